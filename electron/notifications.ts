import { Notification } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { Preferences } from './preferences.ts';
import type { DesktopWindows } from './windows.ts';

/** A notification that is collected as garbage no longer reports clicks. Systems show only some anyway. */
const MAX_KEPT = 50;

/** Shows the alerts for this desktop. */
export async function setUpNotifications(
  node: RunningNode,
  windows: DesktopWindows,
  preferences: Preferences,
): Promise<void> {
  await moveToAlert(node, preferences);
  if (!Notification.isSupported()) return;
  const kept: Notification[] = [];
  node.showAlerts(({ title, alerts: [first, ...others] }) => {
    const body = others.length === 0 ? (first?.text ?? '') : (first?.title ?? '');
    const notification = new Notification({ title, body });
    const path = URL.parse(first?.link ?? '');
    notification.on('click', () => windows.goTo(path && others.length === 0 ? path.pathname : '/alerts'));
    kept.push(notification);
    if (kept.length > MAX_KEPT) kept.shift();
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
