import { IconAlertTriangle } from '@tabler/icons-react';
import type { PlannedImport, RecordImport } from '../../../../../shared/archive/recordImport.ts';
import { StateBadge } from '../../../components/data/Values.tsx';
import { countOf, formatBytes } from '../../../format.ts';
import classes from '../assemble.module.css';

type AnyImport = PlannedImport | RecordImport;

interface RecordSummaryProps {
  record: AnyImport;
  /** As the repository names it; undefined once the record is in the draft. */
  license?: string | null;
}

/** Longer lists are cut, because a record may have ten thousand files. Those that do not come are first. */
const MAX_SHOWN = 200;

/** A record with its files and what must be known of it. */
export function RecordSummary({ record, license }: RecordSummaryProps) {
  const { title, doi, url, files, warnings } = record;
  const shown = files.toSorted((left, right) => rank(left) - rank(right)).slice(0, MAX_SHOWN);
  return (
    <section aria-label="Record" className="stack gap-3">
      <div className="stack gap-1 wrap-anywhere">
        <h3>{title}</h3>
        <p className="muted small">
          <a href={url} target="_blank" rel="noreferrer">
            {doi ?? url}
          </a>
        </p>
        <p className="small numeric">
          {countsOf(record)}
          {license !== undefined && ` · ${license ?? 'No licence stated'}`}
        </p>
      </div>
      {warnings.length > 0 && (
        <div className="card card-warn">
          <ul aria-label="To know" className="plain stack gap-2 small wrap-anywhere">
            {warnings.map((warning) => (
              <li key={warning} className="line gap-2 start">
                <IconAlertTriangle size={16} aria-hidden className={classes.icon} />
                <span>{warning}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {shown.length > 0 && (
        // The list scrolls, so it must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <ul aria-label="Files" tabIndex={0} className={`${classes.files} ruled plain scroll`}>
          {shown.map(({ path, bytes, state }) => (
            <li key={path} className="line gap-3 between">
              <span className="wrap-anywhere">{path}</span>
              <span className={`${classes.state} line gap-3 nowrap`}>
                <span className="muted small numeric">
                  {bytes === null ? 'size unknown' : formatBytes(bytes)}
                </span>
                <StateBadge kind="imported" value={state} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {files.length > shown.length && (
        <p className="muted small">and {countOf(files.length - shown.length, 'more file', 'more files')}</p>
      )}
    </section>
  );
}

function rank({ state }: AnyImport['files'][number]): number {
  return state === 'planned' || state === 'held' ? 1 : 0;
}

function countsOf(record: AnyImport): string {
  const good = record.files.filter(({ state }) => state === 'planned' || state === 'held');
  const bytes = good.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const all = record.files.length;
  if (all === 0) return 'No files';
  const of = good.length === all ? countOf(all, 'file') : `${good.length} of ${countOf(all, 'file')}`;
  return `${of}, ${formatBytes(bytes)} ${record.draft === null ? 'to come' : 'in the draft'}`;
}
