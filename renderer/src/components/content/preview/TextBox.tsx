import classes from './TextBox.module.css';

/** Text as it is, in a box of its own that scrolls. With `isBounded`, the box is not higher than the window. */
export function TextBox({
  text,
  label,
  isBounded = false,
}: {
  text: string;
  label: string;
  isBounded?: boolean;
}) {
  return (
    // The box must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className={classes.text} data-bounded={isBounded || undefined} tabIndex={0} aria-label={label}>
      {text}
    </pre>
  );
}
