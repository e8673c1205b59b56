import { Button } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { useEffect } from 'react';
import type { PackFile } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes } from '../../../format/size.ts';
import { useDraftFiles } from './draftFiles.ts';

const NONE: readonly PackFile[] = [];

/** Loads the files of the previous version, if the draft has one, so that the draft's files are compared with them. */
export function usePreviousFiles(supersedes: string | null): unknown {
  const setPrevious = useDraftFiles((state) => state.setPrevious);
  const pack = useCall('readPack', { params: { id: supersedes ?? '' } }, { enabled: supersedes !== null });
  const previous = supersedes === null ? NONE : pack.data?.files;
  useEffect(() => {
    if (previous) setPrevious(previous);
  }, [previous, setPrevious]);
  return pack.error;
}

/** Offers to reuse the files of the previous version that the draft does not have. */
export function ReuseFiles({ error }: { error: unknown }) {
  const { files, previous, reuse } = useDraftFiles();
  if (error) return <ErrorNote error={error} />;
  const have = new Set(files.map(({ path }) => path));
  const missing = previous.filter(({ path }) => !have.has(path));
  if (missing.length === 0) return null;
  const bytes = missing.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <Button variant="default" leftSection={<IconCopy size={16} aria-hidden />} onClick={() => reuse(missing)}>
      Reuse {countOf(missing.length, 'file')} from the previous version ({formatBytes(bytes)})
    </Button>
  );
}
