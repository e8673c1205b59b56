import { useEffect, useMemo } from 'react';
import type { Pack, PackFile } from '../../../../../shared/archive/pack.ts';
import type { DataSet } from '../../../../../shared/archive/set.ts';
import { PART_BYTES } from '../../../../../shared/archive/setManifest.ts';
import { call } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { useDraft } from '../draftStore.ts';
import { mediaTypeOf } from './draftFile.ts';

const NONE: readonly PackFile[] = [];

/** A set does not state media types, so the names decide. */
function filesOfSet({ files }: DataSet): PackFile[] {
  return files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256, media_type: mediaTypeOf(path, '') }));
}

/** Whether the archive has a file in one piece. A larger file of a set is in pieces, which cannot be reused. */
export function isReusable({ bytes }: Pick<PackFile, 'bytes'>): boolean {
  return bytes <= PART_BYTES;
}

/** Returns the files that a new version of a pack or a set can reuse. @throws ApiProblem, NodeUnreachable */
export async function reusableFiles({ id, files, evidence }: Pack): Promise<readonly PackFile[]> {
  if (!evidence.set) return files;
  return filesOfSet(await call('readSet', { params: { id } })).filter(isReusable);
}

/** Loads the files of the previous version, if the draft has one, so that the draft's files are compared with them. */
export function usePreviousFiles(supersedes: string | null): unknown {
  const input = { params: { id: supersedes ?? '' } };
  const pack = useCall('readPack', input, { enabled: supersedes !== null });
  const isOfSet = pack.data?.evidence.set !== undefined;
  const set = useCall('readSet', input, { enabled: supersedes !== null && isOfSet });
  const ofSet = useMemo(() => set.data && filesOfSet(set.data), [set.data]);
  const previous = supersedes === null ? NONE : isOfSet ? ofSet : pack.data?.files;
  useEffect(() => {
    if (previous) useDraft.setState({ previous });
  }, [previous]);
  return pack.error ?? set.error;
}
