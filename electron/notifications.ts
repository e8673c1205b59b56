import { Notification } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { PROBLEMS } from '../shared/problems.ts';
import type { Preferences } from './preferences.ts';
import type { DesktopWindows } from './windows.ts';

/** A notification that is collected as garbage no longer reports clicks. Systems show only some anyway. */
const MAX_KEPT = 50;

/** Shows the alerts for this desktop, and that the disk of the archive cannot be reached. */
export async function setUpNotifications(
  node: RunningNode,
  windows: DesktopWindows,
  preferences: Preferences,
): Promise<void> {
  await moveToAlert(node, preferences);
  if (!Notification.isSupported()) return;
  const kept: Notification[] = [];
  const show = (title: string, body: string, onClick: () => void) => {
    const notification = new Notification({ title, body });
    notification.on('click', onClick);
    kept.push(notification);
    if (kept.length > MAX_KEPT) kept.shift();
    notification.show();
  };
  node.showAlerts(({ title, alerts: [first, ...others] }) => {
    const body = others.length === 0 ? (first?.text ?? '') : (first?.title ?? '');
    const path = URL.parse(first?.link ?? '');
    show(title, body, () => windows.goTo(path && others.length === 0 ? path.pathname : '/alerts'));
  });
  // No alert can: alerts are in the archive.
  node.onAway((isAway) => {
    const body = isAway
      ? `Connect the disk with ${node.dataFolder} again, and Strongroom continues by itself.`
      : 'Strongroom continues.';
    const { title } = PROBLEMS.data_folder_away;
    show(isAway ? title : 'The disk of the archive is back', body, () => windows.show());
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
