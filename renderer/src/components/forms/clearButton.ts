/**
 * For `clearButtonProps`: the library hides the button that clears a choice from the keyboard and from screen readers,
 * who would have no other way to clear it. `label` says what a press comes to: `Any status`.
 */
export function clearButton(label: string) {
  return { 'aria-label': label, 'aria-hidden': false, tabIndex: 0 } as const;
}
