import { IconEyeOff, IconTrashX } from '@tabler/icons-react';
import { RELEASED_REASON_TEXT, type ReleasedReason } from '../../../../shared/node/withheld.ts';
import { isProblem } from '../../api/client.ts';
import { exactTime } from '../../format/time.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import type { Hidden } from '../../state/withheld.ts';

/** Returns what a refusal says of hidden bytes; undefined for other errors. */
export function hiddenByRefusal(error: unknown): Hidden | undefined {
  const kind = isProblem(error, 'withheld')
    ? 'withheld'
    : isProblem(error, 'released')
      ? 'released'
      : undefined;
  if (kind === undefined || !isProblem(error, kind)) return undefined;
  const { reason, since } = error.document;
  if (typeof reason !== 'string' || !Object.hasOwn(RELEASED_REASON_TEXT, reason) || typeof since !== 'string')
    return undefined;
  return { kind, reason: reason as ReleasedReason, since };
}

/** In the place of bytes: that they are not shown, why, since when, and what remains. It is no error. */
export function NotShown({ kind, reason, since, peer }: Hidden) {
  const Icon = kind === 'withheld' ? IconEyeOff : IconTrashX;
  const zone = useDisplaySettings((look) => look.zone);
  const at = (
    <time dateTime={since} className="nowrap">
      {exactTime(since, zone)}
    </time>
  );
  const why = RELEASED_REASON_TEXT[reason];
  return (
    <div className="card line gap-3 start" role="note">
      <Icon size={20} stroke={1.7} aria-hidden className="muted rigid" />
      {peer !== undefined ? (
        <p>
          The bytes are not here: {peer}{' '}
          {kind === 'withheld' ? 'does not show them since' : 'gave them up on'} {at} ({why}). The record and
          its proof remain.
        </p>
      ) : kind === 'withheld' ? (
        <p>
          The owner does not show this to visitors since {at} ({why}). The record and its proof remain.
        </p>
      ) : (
        <p>
          These bytes were given up on {at} ({why}). Nobody can read them any more. The record, the digest and
          their proof remain.
        </p>
      )}
    </div>
  );
}
