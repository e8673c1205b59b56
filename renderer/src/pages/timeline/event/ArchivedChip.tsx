import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { useVerified } from '../../../state/objectChecks.ts';

/** The digest of an archived object; it says so where this browser has hashed the bytes itself. */
export function ArchivedChip({ sha256, label }: { sha256: string; label: string }) {
  return <DigestChip digest={sha256} label={label} verified={useVerified(sha256)} />;
}
