import { Button } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { useState } from 'react';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { urlOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes } from '../../../format/size.ts';
import { runLocalJob } from '../../../state/runLocalJob.ts';
import { useDraftFiles } from './draftFiles.ts';
import type { PathFile } from './readDropped.ts';

/** Offers to reuse the files of the previous version in a new version. */
export function ReuseFiles({ from }: { from: string }) {
  const pack = useCall('readPack', { params: { id: from } });
  const { files, add } = useDraftFiles();
  const [error, setError] = useState<unknown>();
  const [isRunning, setIsRunning] = useState(false);
  const have = new Set(files.map(({ path }) => path));
  const missing = (pack.data?.files ?? []).filter(({ path }) => !have.has(path));
  if (missing.length === 0) return null;
  const reuse = async () => {
    setError(undefined);
    setIsRunning(true);
    try {
      add(await fetchFiles(missing));
    } catch (problem) {
      setError(problem);
    } finally {
      setIsRunning(false);
    }
  };
  const bytes = missing.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <>
      <Button
        variant="default"
        loading={isRunning}
        leftSection={<IconCopy size={16} aria-hidden />}
        onClick={() => void reuse()}
      >
        Reuse {countOf(missing.length, 'file')} from the previous version ({formatBytes(bytes)})
      </Button>
      {error !== undefined && <ErrorNote error={error} />}
    </>
  );
}

function fetchFiles(wanted: Pack['files']): Promise<PathFile[]> {
  const total = wanted.reduce((sum, file) => sum + file.bytes, 0);
  return runLocalJob(
    { title: 'Fetching files of the previous version', unit: 'bytes', total },
    async ({ signal, onProgress }) => {
      const fetched: PathFile[] = [];
      let done = 0;
      for (const { path, sha256, media_type } of wanted) {
        const response = await fetch(urlOf('readBlob', { params: { sha256 } }), { signal });
        if (!response.ok) throw new Error(`${path} could not be fetched (status ${response.status}).`);
        const file = new File([await response.blob()], path.split('/').at(-1) ?? path, { type: media_type });
        fetched.push({ path, file });
        done += file.size;
        onProgress(done, total);
      }
      return fetched;
    },
  );
}
