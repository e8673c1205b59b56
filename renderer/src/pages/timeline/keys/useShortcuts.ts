import { useLayoutEffect, useRef } from 'react';
import { create } from 'zustand';
import { persist } from 'zustand/middleware';

interface ShortcutSettings {
  enabled: boolean;
  setEnabled: (enabled: boolean) => void;
}

/** Whether single keys act in this browser. Speech input and some assistive tools need them off (WCAG 2.1.4). */
export const useShortcutSettings = create<ShortcutSettings>()(
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
