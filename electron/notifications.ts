import { Notification } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { Preferences } from './preferences.ts';
import type { DesktopWindow } from './window.ts';

/** Shows the alerts for this desktop. */
export async function setUpNotifications(
  node: RunningNode,
  window: DesktopWindow,
  preferences: Preferences,
): Promise<void> {
  await moveToAlert(node, preferences);
  if (!Notification.isSupported()) return;
  node.showAlerts(({ title, alerts: [first, ...others] }) => {
    const body = others.length === 0 ? (first?.text ?? '') : (first?.title ?? '');
    const notification = new Notification({ title, body });
    const path = URL.parse(first?.link ?? '');
    notification.on('click', () => window.goTo(path && others.length === 0 ? path.pathname : '/alerts'));
    notification.show();
  });
}

/** Earlier versions showed a notification for each event of the types in the preferences. An alert does this now. */
async function moveToAlert(node: RunningNode, preferences: Preferences): Promise<void> {
  const { notify } = preferences.current;
  if (notify.length === 0) return;
  await node.addAlert({
    name: 'Desktop notifications',
    when: { event_types: notify },
    to: [{ kind: 'desktop' }],
    every: 'at_once',
    paused: false,
  });
  preferences.change({ notify: [] });
}
