import type { ComparedFile } from '../../../../../shared/archive/packComparison.ts';
import { urlOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DiffContent } from '../../timeline/diff/EventDiff.tsx';
import classes from './ComparedFiles.module.css';

export interface ComparedFileDiffProps {
  from: string;
  to: string;
  file: ComparedFile;
}

/** The differences between the two versions of a file. They are computed on request, which may take a moment. */
export function ComparedFileDiff({ from, to, file: { path, before, after } }: ComparedFileDiffProps) {
  const input = { params: { id: from }, query: { with: to, path } };
  const { data: diff, error, refetch } = useCall('comparePackFiles', input);
  const name = path.split('/').at(-1);
  return (
    <div className={classes.diff}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!diff && !error && <output className="muted">Comparing the two versions…</output>}
      {diff && <DiffContent diff={diff} />}
      <p className={classes.foot}>
        {before && (
          <a href={urlOf('readBlob', { params: { sha256: before.sha256 } })} download={name}>
            Download the older file
          </a>
        )}
        {after && (
          <a href={urlOf('readBlob', { params: { sha256: after.sha256 } })} download={name}>
            Download the newer file
          </a>
        )}
        <a href={urlOf('comparePackFiles', input)} target="_blank" rel="noopener noreferrer">
          View as JSON
        </a>
      </p>
    </div>
  );
}
