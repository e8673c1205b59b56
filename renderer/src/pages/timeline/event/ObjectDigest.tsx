import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { useVerified } from '../../../state/objectChecks.ts';

/** The digest of an archived object, marked if this browser has verified the bytes. */
export function ObjectDigest({ sha256, label }: { sha256: string; label: string }) {
  return <DigestChip digest={sha256} label={label} verified={useVerified(sha256)} />;
}
