import { getHotkeyHandler } from '@mantine/hooks';
import { createSpotlight } from '@mantine/spotlight';

/** Whether the palette is open, and what it looks for. */
export const [paletteStore, palette] = createSpotlight();

/** What was typed since the palette was opened. Undefined once its field has the focus and takes the keys itself. */
let typedAhead: string | undefined;

/** Opens the palette. If the page is not rendered yet, the palette opens when it is. */
export function openPalette(): void {
  if (paletteStore.getState().opened) return;
  typedAhead = '';
  palette.open();
}

/**
 * Ctrl+K works from the moment the script runs, before React has rendered anything, and what is typed before the
 * palette's field has the focus is kept for it. It works in text fields too.
 */
export function listenForPalette(): void {
  const shortcut = getHotkeyHandler([['mod + K', openPalette]]);
  window.addEventListener(
    'keydown',
    (event) => {
      shortcut(event);
      if (typedAhead !== undefined && !event.defaultPrevented) typeAhead(event, typedAhead);
    },
    { capture: true },
  );
}

/** Returns what was typed before the palette's field got the focus. It is returned once. */
export function takeTypedAhead(): string {
  const typed = typedAhead ?? '';
  typedAhead = undefined;
  return typed;
}

function typeAhead(event: KeyboardEvent, typed: string): void {
  if (event.key === 'Escape') palette.close();
  // It may also have been closed with the mouse.
  if (!paletteStore.getState().opened) {
    typedAhead = undefined;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // The names of other keys have several letters.
  if (/^.$/u.test(event.key)) typedAhead = typed + event.key;
  else if (event.key === 'Backspace') typedAhead = typed.slice(0, -1);
  // Enter would press what has the focus on the page.
  else if (event.key !== 'Enter') return;
  event.preventDefault();
  event.stopPropagation();
}
