import type { ByteParts } from '../../../../../shared/collection/diff.ts';
import { formatCount } from '../../../format/size.ts';
import classes from './ByteDiff.module.css';
import { hexBytes } from './diffSummary.ts';

/** The bytes around the first difference in hex, with the different bytes highlighted. */
export function ByteDiff({ around }: { around: NonNullable<ByteParts['around']> }) {
  const { offset, from, to } = around;
  return (
    <div className={classes.bytes}>
      <p className="small muted">First difference at byte {formatCount(offset)} , in hex:</p>
      <Side title="Before" own={from} other={to} mark="del" />
      <Side title="After" own={to} other={from} mark="ins" />
    </div>
  );
}

interface SideProps {
  title: string;
  own: string;
  other: string;
  mark: 'ins' | 'del';
}

function Side({ title, own, other, mark: Mark }: SideProps) {
  return (
    <div className={classes.side}>
      <span className={classes.title}>{title}</span>
      <code className={classes.hex}>
        {own === '' && <span className="muted">end of file</span>}
        {hexBytes(own, other).map(({ hex, differs }, index) =>
          // Bytes have no identity, and their positions are fixed.
          differs ? <Mark key={index}>{hex}</Mark> : <span key={index}>{hex}</span>,
        )}
      </code>
    </div>
  );
}
