import { Button, Pill, Popover, Switch, TextInput } from '@mantine/core';
import { IconAdjustmentsHorizontal, IconPackageImport } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { LICENSES, OUTCOMES, TAGS, VERDICTS } from '../../../../shared/archive/vocabulary.ts';
import { useCall } from '../../api/useCall.ts';
import {
  type Column,
  DataTable,
  FilteredList,
  RowLink,
  timeColumn,
  useUrlOffset,
} from '../../components/data/DataTable.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../components/forms/buttons.tsx';
import {
  FilterSelect,
  SearchField,
  type UrlFilters,
  useUrlFilters,
} from '../../components/forms/filters.tsx';
import { PackPicker, StudyPicker, SubjectPicker } from '../../components/forms/pickers.tsx';
import { Page, SplitView, useIsWide } from '../../components/layout/Page.tsx';
import { authorsLine, formatBytes } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';
import { SetMark, VersionMark } from './PackHeader.tsx';
import { PackPreview } from './PackPage.tsx';
import { ReplicationCounts } from './PackReplications.tsx';

const PAGE_SIZE = 100;
const VIEW = ['sort', 'offset', 'open'] as const;
/** A new filter starts from the first page. */
const RESET = ['offset'] as const;

/** The list of packs with search, filters and sorting. A row opens next to the list. */
export default function PacksPage() {
  const mayContribute = useMayContribute();
  const filters = useUrlFilters(FACETS, RESET);
  const view = useUrlFilters(VIEW);
  const isWide = useIsWide();
  const navigate = useNavigate();
  const { sort = '-received', open } = view.values;
  const [offset] = useUrlOffset();
  const packs = useCall(
    'listPacks',
    { query: { ...filters.values, sort, offset, limit: PAGE_SIZE } },
    { keepPrevious: true },
  );
  const openPack = (pack: Pack) => {
    if (isWide) view.set({ open: pack.id === open ? '' : pack.id });
    else void navigate(`/packs/${pack.id}`);
  };
  const assemble = mayContribute && (
    <Button component={Link} to="/assemble" leftSection={<IconPackageImport size={17} aria-hidden />}>
      New pack
    </Button>
  );
  return (
    <Page title="Packs" actions={assemble}>
      <PackFacets filters={filters} />
      <FilteredList
        list={packs}
        filters={filters}
        what="packs"
        limit={PAGE_SIZE}
        noMatch={['No pack matches', 'A pack must contain all words and match every filter.']}
        empty={
          <EmptyState title="No packs yet" action={assemble}>
            A pack is a bundle of research files with a record of the authors, the outcome and the method.
            Packs will appear here, newest first.
          </EmptyState>
        }
        frame={(list) => (
          <SplitView
            label="Open pack"
            pane={open && <PackPreview id={open} />}
            onClose={() => view.set({ open: '' })}
          >
            {list}
          </SplitView>
        )}
      >
        {(items) => (
          <DataTable
            caption="Packs"
            columns={packColumns(openPack, isWide, open)}
            rows={items}
            rowKey={(pack) => pack.id}
            onOpen={openPack}
            openKey={open}
            sort={sort}
            onSort={(next) => view.set({ sort: next, offset: '' })}
          />
        )}
      </FilteredList>
    </Page>
  );
}

/**
 * The columns of the list of packs.
 *
 * @param isWide whether a pack opens next to the list
 */
function packColumns(openPack: (pack: Pack) => void, isWide: boolean, open?: string): Column<Pack>[] {
  return [
    {
      id: 'title',
      header: 'Title',
      sortKey: 'title',
      cell: (pack) => (
        <TitleCell pack={pack} isOpen={pack.id === open} onOpen={isWide ? () => openPack(pack) : undefined} />
      ),
    },
    {
      id: 'authors',
      header: 'Authors',
      width: '11rem',
      hideBelow: 'wide',
      cell: (pack) => <span className="muted">{authorsLine(pack.authors)}</span>,
    },
    {
      id: 'outcome',
      header: 'Outcome',
      width: '6.5rem',
      cell: (pack) => <StateBadge kind="outcome" value={pack.outcome} />,
    },
    {
      id: 'tag',
      header: 'Tag',
      width: '7.5rem',
      hideBelow: 'medium',
      cell: (pack) => <StateBadge kind="tag" value={pack.tag} />,
    },
    {
      id: 'replications',
      header: 'Replications',
      width: '7rem',
      sortKey: 'replications',
      hideBelow: 'medium',
      cell: (pack) => <ReplicationCounts evidence={pack.evidence} />,
    },
    {
      id: 'size',
      header: 'Size',
      width: '5.5rem',
      align: 'end',
      hideBelow: 'wide',
      cell: (pack) => (
        <span className="nowrap">{formatBytes((pack.evidence.set ?? pack.evidence).bytes)}</span>
      ),
    },
    timeColumn('Received', (pack) => pack.evidence.received_at, {
      width: '8.5rem',
      align: 'end',
      sortKey: 'received',
      hideBelow: 'narrow',
    }),
  ];
}

interface TitleCellProps {
  pack: Pack;
  isOpen: boolean;
  onOpen: (() => void) | undefined;
}

/** The title, its marks, and what narrow tables have no columns for. */
function TitleCell({ pack, isOpen, onOpen }: TitleCellProps) {
  return (
    <>
      <span className="clamp" title={pack.title}>
        <RowLink to={`/packs/${pack.id}`} onOpen={onOpen} isOpen={isOpen}>
          {pack.title}
        </RowLink>
      </span>{' '}
      <SetMark evidence={pack.evidence} /> <VersionMark evidence={pack.evidence} />
      {pack.flags.length > 0 && (
        <>
          {' '}
          <StateBadge kind="mark" value="flagged" />
        </>
      )}
      {pack.evidence.superseded_by && (
        <>
          {' '}
          <StateBadge kind="mark" value="superseded" />
        </>
      )}
      <div className="muted small" data-show="wide">
        {authorsLine(pack.authors)}
      </div>
      <div className="muted small" data-show="narrow">
        <TimeText at={pack.evidence.received_at} />
      </div>
    </>
  );
}

const FACETS = [
  'q',
  'outcome',
  'tag',
  'license',
  'verdict',
  'study',
  'node',
  'author',
  'keyword',
  'flagged',
  'replicates',
] as const;
type Facet = (typeof FACETS)[number];

/** The label of an active filter whose value alone would be ambiguous. */
const FACET_LABELS: Record<Exclude<Facet, 'q'>, string> = {
  outcome: 'outcome',
  tag: 'tag',
  license: 'licence',
  verdict: 'replicated as',
  study: 'study',
  node: 'subject',
  author: 'author',
  keyword: 'keyword',
  flagged: 'flagged',
  replicates: 'replications of',
};

const SELECTS: { facet: Facet; label: string; values: readonly string[] }[] = [
  { facet: 'outcome', label: 'Outcome', values: OUTCOMES },
  { facet: 'tag', label: 'Tag', values: TAGS },
  { facet: 'verdict', label: 'Replicated as', values: VERDICTS },
  { facet: 'license', label: 'Licence', values: LICENSES },
];

/** The prefix of each option's value: Mantine treats the outcome `null` as no selection. */
const OPTION = 'is ';

/** Search and filters of the packs. Active filters are listed below and can be removed one by one. */
function PackFacets({ filters }: { filters: UrlFilters<Facet> }) {
  const { values, set, clear, isAny } = filters;
  return (
    <search className="mb-3 stack gap-3">
      <div className="cluster gap-2 stretch">
        <div className="grow">
          <SearchField
            label="Search packs"
            placeholder="Title, summary, authors, keywords, method"
            value={values.q ?? ''}
            onChange={(q) => set({ q })}
          />
        </div>
        {SELECTS.map(({ facet, label, values: choices }) => (
          <FilterSelect
            key={facet}
            label={label}
            data={choices.map((choice) => ({ value: OPTION + choice, label: choice }))}
            value={values[facet] && OPTION + values[facet]}
            onChange={(value) => set({ [facet]: value.slice(OPTION.length) })}
            w={label === 'Replicated as' ? 152 : 128}
          />
        ))}
        <MoreFilters values={values} set={set} />
      </div>
      {isAny && (
        <div className="cluster gap-2">
          {FACETS.filter((facet) => values[facet]).map((facet) => (
            <Pill
              key={facet}
              size="md"
              withRemoveButton
              removeButtonProps={{
                'aria-label': `Remove filter: ${facet === 'q' ? 'search' : FACET_LABELS[facet]}`,
                tabIndex: 0,
                'aria-hidden': false,
              }}
              onRemove={() => set({ [facet]: '' })}
            >
              {facet === 'q'
                ? `“${values.q}”`
                : facet === 'flagged'
                  ? values.flagged === 'true'
                    ? 'flagged'
                    : 'not flagged'
                  : `${FACET_LABELS[facet]}: ${values[facet]}`}
            </Pill>
          ))}
          <Button variant="subtle" size="compact-sm" onClick={clear}>
            Clear all
          </Button>
        </div>
      )}
    </search>
  );
}

function MoreFilters({ values, set }: Pick<UrlFilters<Facet>, 'values' | 'set'>): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" width={340} trapFocus shadow="md">
      <Popover.Target>
        <IconButton icon={IconAdjustmentsHorizontal} onClick={() => setOpen(!open)}>
          More
        </IconButton>
      </Popover.Target>
      <Popover.Dropdown aria-label="More filters">
        <div className="stack gap-3">
          <StudyPicker
            label="Study"
            value={values.study ?? null}
            onChange={(study) => set({ study: study ?? '' })}
          />
          <SubjectPicker
            label="Subject (including those below)"
            value={values.node ?? null}
            onChange={(node) => set({ node: node ?? '' })}
          />
          <PackPicker
            label="Replications of"
            value={values.replicates ?? null}
            onChange={(replicates) => set({ replicates: replicates ?? '' })}
          />
          <TextInput
            label="Author"
            defaultValue={values.author ?? ''}
            key={`author ${values.author}`}
            onBlur={(event) => set({ author: event.currentTarget.value.trim() })}
            onKeyDown={(event) => event.key === 'Enter' && set({ author: event.currentTarget.value.trim() })}
          />
          <TextInput
            label="Keyword"
            defaultValue={values.keyword ?? ''}
            key={`keyword ${values.keyword}`}
            onBlur={(event) => set({ keyword: event.currentTarget.value.trim() })}
            onKeyDown={(event) => event.key === 'Enter' && set({ keyword: event.currentTarget.value.trim() })}
          />
          <Switch
            label="Only flagged packs"
            checked={values.flagged === 'true'}
            onChange={(event) => set({ flagged: event.currentTarget.checked ? 'true' : '' })}
          />
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
