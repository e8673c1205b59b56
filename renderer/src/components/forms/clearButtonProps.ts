/**
 * For `clearButtonProps`. Mantine hides its clear button from the keyboard and from screen readers. `label`
 * names the result of pressing it: `Any status`.
 */
export function clearButtonProps(label: string) {
  return { 'aria-label': label, 'aria-hidden': false, tabIndex: 0 } as const;
}
