import { Button, Group } from '@mantine/core';
import { Link } from 'react-router';
import { LIST_OUTCOMES, type SourceImport } from '../../../../../shared/collection/sourceList.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { VirtualList } from '../../../components/data/VirtualList.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import classes from './AddList.module.css';

type Item = SourceImport['items'][number];

/** The order of the results: rejected entries first. */
const ORDER: readonly Item['outcome'][] = ['refused', 'added', 'already'];

export interface ListOutcomeProps {
  outcome: SourceImport;
  /** Returns to the form with the rejected lines. */
  onFix: () => void;
  onClose: () => void;
}

/** The result of a list: counts, then one row per entry, rejected entries first. */
export function ListOutcome({ outcome, onFix, onClose }: ListOutcomeProps) {
  const { items, refused, ignored_columns: ignored } = outcome;
  const numbered = items.map((item, place) => ({ ...item, place }));
  const sorted = ORDER.flatMap((kind) => numbered.filter((item) => item.outcome === kind));
  return (
    <div className={classes.form}>
      <output className={classes.counts}>
        {LIST_OUTCOMES.map((kind) => (
          <StateBadge key={kind} kind="listed" value={kind} count={outcome[kind]} look="boxed" />
        ))}
      </output>
      {items.length === 0 && <p>The list contains no URLs.</p>}
      {ignored.length > 0 && <p className="small muted">Ignored columns: {ignored.join(', ')}.</p>}
      {refused > 0 && (
        <div className={classes.refused}>
          <span className="small">The rejected lines and their reasons</span>
          <CopyButton text={refusedText(items)} what="rejected lines" />
        </div>
      )}
      {items.length > 0 && (
        // The list scrolls, so it must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section className={classes.items} tabIndex={0} aria-label="Results by line">
          <VirtualList
            label="Result of each entry"
            items={sorted}
            keyOf={({ place }) => String(place)}
            render={(item) => <Entry item={item} onLeave={onClose} />}
          />
        </section>
      )}
      <Group justify="flex-end" gap="sm">
        {refused > 0 && (
          <Button variant="default" onClick={onFix}>
            Fix rejected lines
          </Button>
        )}
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </div>
  );
}

function Entry({ item, onLeave }: { item: Item; onLeave: () => void }) {
  const { line, url, outcome, source, detail } = item;
  return (
    <div className={classes.entry}>
      <span className={`${classes.line} numeric`}>{line}</span>
      <StateBadge kind="listed" value={outcome} />
      <span className={classes.address}>
        {source ? (
          <Link to={`/sources/${source}`} onClick={onLeave}>
            {url}
          </Link>
        ) : (
          url || <em>no URL</em>
        )}
        {outcome === 'refused' && detail && <span className={classes.reason}>{detail}</span>}
      </span>
    </div>
  );
}

function refusedText(items: readonly Item[]): string {
  return items
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ line, url, detail = '' }) => `${line}\t${url}\t${detail}`)
    .join('\n');
}
