import { Button, Modal, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronUp, IconKeyboard } from '@tabler/icons-react';
import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { create } from 'zustand';
import { persist } from 'zustand/middleware';
import { useIsOwner } from '../../state/session.ts';
import classes from './Timeline.module.css';

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
        <dl className={`${classes.keys} stack gap-2`}>
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

interface KeyButtonProps {
  label: string;
  keys: string;
  icon: ReactNode;
  /** Undefined if there is nothing to do. */
  onClick: (() => void) | undefined;
}

/** A button whose key does the same. */
export function KeyButton({ label, keys, icon, onClick }: KeyButtonProps) {
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={icon}
      rightSection={
        <kbd className={`${classes.key} muted tiny`} aria-hidden>
          {keys}
        </kbd>
      }
      aria-keyshortcuts={keys === keys.toUpperCase() ? `Shift+${keys}` : keys}
      disabled={!onClick}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}

/** Steps to what is before or after something. */
export function StepButton({ isUp = false, ...props }: Omit<KeyButtonProps, 'icon'> & { isUp?: boolean }) {
  const Icon = isUp ? IconChevronUp : IconChevronDown;
  return <KeyButton icon={<Icon size={14} aria-hidden />} {...props} />;
}

interface ShortcutSettings {
  enabled: boolean;
  setEnabled: (enabled: boolean) => void;
}

/** Whether single keys act in this browser. Speech input and some assistive tools need them off (WCAG 2.1.4). */
const useShortcutSettings = create<ShortcutSettings>()(
  persist((set) => ({ enabled: true, setEnabled: (enabled) => set({ enabled }) }), {
    name: 'strongroom-shortcuts',
  }),
);

const FIELDS =
  'input:not([type="checkbox"]), textarea, select, [contenteditable], [role="combobox"], [role="slider"], [role="dialog"]';

/** Calls a function when its key is pressed anywhere on the page, but not in a field or a dialog. */
export function useShortcuts(shortcuts: Readonly<Record<string, (() => void) | undefined>>): void {
  const enabled = useShortcutSettings((state) => state.enabled);
  const latest = useRef(shortcuts);
  // Before the browser paints: a key must act on the event that is shown, not on the one before it.
  useLayoutEffect(() => {
    latest.current = shortcuts;
  });
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
      if (event.defaultPrevented || altKey || ctrlKey || metaKey) return;
      if (target instanceof Element && target.closest(FIELDS)) return;
      // Caps Lock does not change what a letter does.
      const letter = shiftKey ? key.toUpperCase() : key.toLowerCase();
      const act = latest.current[/^\p{L}$/u.test(key) ? letter : key];
      if (!act || !(enabled || key === '?')) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [enabled]);
}
