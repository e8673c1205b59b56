import { useVerified } from '../../../state/objectChecks.ts';
import { DigestChip } from '../../data/DigestChip.tsx';

/** The digest of an archived object, marked if this browser has verified the bytes. */
export function ObjectDigest({ sha256, label }: { sha256: string; label: string }) {
  return <DigestChip digest={sha256} label={label} verified={useVerified(sha256)} />;
}
