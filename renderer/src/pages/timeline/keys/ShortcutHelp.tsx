import { Button, Modal, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKeyboard } from '@tabler/icons-react';
import { useIsOwner } from '../../../state/session.ts';
import classes from './ShortcutHelp.module.css';
import { useShortcutSettings, useShortcuts } from './useShortcuts.ts';

const KEYS: readonly [keys: string, action: string, forOwner?: boolean][] = [
  ['j', 'Older event'],
  ['k', 'Newer event'],
  ['Shift J', 'Older event of this source'],
  ['Shift K', 'Newer event of this source'],
  ['Enter', 'Open the selected event'],
  ['Esc', 'Close the event'],
  ['m', 'Mark as seen or unseen', true],
  ['?', 'Show the keys'],
];

/** A button, and the key `?`, that show the keys of the timeline. */
export function ShortcutHelp({ size = 'compact-xs' }: { size?: 'compact-xs' | 'sm' }) {
  const [opened, { open, close }] = useDisclosure(false);
  const isOwner = useIsOwner();
  const { enabled, setEnabled } = useShortcutSettings();
  useShortcuts({ '?': open });
  return (
    <>
      <Button
        variant="subtle"
        color="gray"
        size={size}
        leftSection={<IconKeyboard size={15} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Keys
      </Button>
      <Modal opened={opened} onClose={close} title="Keyboard shortcuts" size="sm">
        <dl className={classes.keys}>
          {KEYS.filter(([, , forOwner]) => isOwner || !forOwner).map(([keys, action]) => (
            <div key={keys}>
              <dt>
                {keys.split(' ').map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{action}</dd>
            </div>
          ))}
        </dl>
        <Switch
          mt="md"
          label="Use single-key shortcuts"
          checked={enabled}
          onChange={({ currentTarget }) => setEnabled(currentTarget.checked)}
        />
      </Modal>
    </>
  );
}
