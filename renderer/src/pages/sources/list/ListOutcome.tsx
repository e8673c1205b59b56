import { Button, Group } from '@mantine/core';
import { Link } from 'react-router';
import { LIST_OUTCOMES, type SourceImport } from '../../../../../shared/sourceList.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { VirtualList } from '../../../components/data/VirtualList.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import classes from './AddList.module.css';

type Item = SourceImport['items'][number];

/** What needs a hand comes first. */
const ORDER: readonly Item['outcome'][] = ['refused', 'added', 'already'];

export interface ListOutcomeProps {
  outcome: SourceImport;
  /** Goes back to the list, to mend what was refused. */
  onMend: () => void;
  onClose: () => void;
}

/** What became of each entry of a list: counts, then line by line, what was refused first. */
export function ListOutcome({ outcome, onMend, onClose }: ListOutcomeProps) {
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
      {items.length === 0 && <p>There was no address in the list.</p>}
      {ignored.length > 0 && (
        <p className="small muted">Columns that mean nothing here were left out: {ignored.join(', ')}.</p>
      )}
      {refused > 0 && (
        <div className={classes.refused}>
          <span className="small">The refused lines, with the reason of each</span>
          <CopyButton text={refusedText(items)} what="the refused lines" />
        </div>
      )}
      {items.length > 0 && (
        // It scrolls, so it has to be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section className={classes.items} tabIndex={0} aria-label="Line by line">
          <VirtualList
            label="What became of each entry"
            items={sorted}
            keyOf={({ place }) => String(place)}
            render={(item) => <Entry item={item} onLeave={onClose} />}
          />
        </section>
      )}
      <Group justify="flex-end" gap="sm">
        {refused > 0 && (
          <Button variant="default" onClick={onMend}>
            Mend what was refused
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
          url || <em>no address</em>
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
