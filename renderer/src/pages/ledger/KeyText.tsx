import { CopyButton } from '../../components/forms/CopyButton.tsx';
import classes from './KeyHistory.module.css';

/** A verifier key, to compare and to copy. `what` names it to screen readers. */
export function KeyText({ text, what }: { text: string; what: string }) {
  return (
    <p className={classes.key}>
      <span className="mono wrap-anywhere">{text}</span>
      <CopyButton text={text} what={what} />
    </p>
  );
}
