import { IconAlertTriangle, IconCheck, IconCircleCheck } from '@tabler/icons-react';
import { exactTime } from '../../format/time.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import { useCopied } from '../forms/useCopied.ts';
import classes from './DigestChip.module.css';

/** The result of a digest check: whether it matched, when, and against what. */
export interface Verified {
  ok: boolean;
  at: string;
  /** What was compared: `the stored bytes`, `the ledger`. */
  against: string;
}

export interface DigestChipProps {
  digest: string;
  /** What the digest belongs to, for screen readers: `fingerprint`, `digest of data.csv`. */
  label?: string;
  verified?: Verified;
}

/** Shows the first 8 digits of a digest. Hover or focus shows all of it; a click copies it. */
export function DigestChip({ digest, label = 'digest', verified }: DigestChipProps) {
  const { copied, copy } = useCopied();
  const zone = useDisplaySettings((look) => look.zone);
  const found =
    verified &&
    `${verified.ok ? 'Verified' : 'Does not match'} against ${verified.against}, ${exactTime(verified.at, zone)}`;
  return (
    <LazyTooltip
      maxWidth={420}
      label={
        <span className={classes.whole}>
          <code>{digest}</code>
          <span>{copied ? 'Copied' : 'Click to copy'}</span>
          {found && <span>{found}</span>}
        </span>
      }
    >
      {(trigger) => (
        <button
          {...trigger}
          type="button"
          className={classes.chip}
          aria-label={`${label} ${digest.slice(0, 8)}, copy${found ? `. ${found}` : ''}`}
          onClick={(event) => {
            event.stopPropagation();
            copy(digest);
          }}
        >
          {copied ? (
            <IconCheck size={13} aria-hidden />
          ) : (
            verified &&
            (verified.ok ? (
              <IconCircleCheck size={14} className={classes.good} aria-hidden />
            ) : (
              <IconAlertTriangle size={14} className={classes.bad} aria-hidden />
            ))
          )}
          <span>{digest.slice(0, 8)}</span>
        </button>
      )}
    </LazyTooltip>
  );
}
