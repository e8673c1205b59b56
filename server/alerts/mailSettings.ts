import type { RequestedSettings, Settings, SettingsChange } from '../../shared/node/settings.ts';
import type { AlertSecrets } from './secrets.ts';

/**
 * Changes settings. The password of the mail server is kept apart from them. A kept password never goes to another server:
 * it is forgotten if the host or the user changes without a new one.
 */
export async function changeSettingsWithMail(
  { smtp, ...others }: RequestedSettings,
  {
    current,
    secrets,
    change,
  }: {
    current: () => Settings;
    secrets: AlertSecrets;
    change: (change: SettingsChange) => Promise<Settings>;
  },
): Promise<Settings> {
  if (smtp === undefined) return change(others);
  if (smtp === null) {
    const changed = await change({ ...others, smtp: null });
    await secrets.setSmtpPassword(undefined);
    return changed;
  }
  const { password: given, has_password: _shown, ...server } = smtp;
  const before = current().smtp;
  const isSame = before?.host === server.host && before.user === server.user && server.user !== undefined;
  const password = given ?? (isSame ? await secrets.smtpPassword() : undefined);
  // The old server must not get the new password, nor the new one the old: without a server nothing is sent.
  if (before !== null && !(isSame && given === undefined)) await change({ smtp: null });
  await secrets.setSmtpPassword(password);
  return change({ ...others, smtp: { ...server, has_password: password !== undefined } });
}
