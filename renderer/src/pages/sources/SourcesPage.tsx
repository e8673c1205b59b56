import { Button, Checkbox, Modal, TextInput } from '@mantine/core';
import { IconCamera, IconFileImport, IconListDetails, IconPlus, IconRefresh } from '@tabler/icons-react';
import { useNavigate, useSearchParams } from 'react-router';
import { SOURCE_STATES } from '../../../../shared/collection/source.ts';
import { DataTable, FilteredList, useUrlOffset } from '../../components/data/DataTable.tsx';
import { STATES } from '../../components/data/states.ts';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, useItemForm } from '../../components/forms/DialogForm.tsx';
import {
  FilterSelect,
  SearchField,
  type UrlFilters,
  useFirstUse,
  useUrlFilters,
} from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { AddListForm } from './AddList.tsx';
import { AddSourceForm } from './AddSource.tsx';
import { ImportCapturesForm } from './captures/ImportCaptures.tsx';
import { FoundList } from './FoundList.tsx';
import { CaptureOutcome, CheckOutcome, FoundNotice } from './Notices.tsx';
import { useCollectionRun } from './runs.ts';
import { SelectionBar } from './SelectionBar.tsx';
import { ownerColumns, VISITOR_COLUMNS } from './sourceColumns.tsx';
import { withScheme } from './sourceForm.ts';
import classes from './sources.module.css';
import {
  type Dialog,
  useAgenciesAndTags,
  useSelection,
  useSources,
  useSourcesUrl,
  type VisibleSource,
} from './useSources.ts';

const PAGE_ROWS = 100;
const RESET_BY_FILTERS = ['offset'];
/** The dialog of a form that is saved as it is typed: only its buttons close it. */
const KEPT_FORM = { size: 'lg', closeOnClickOutside: false, centered: false } as const;

/** The list of watched sources and, for the owner, their actions. */
export default function SourcesPage() {
  const isOwner = useIsOwner();
  const { dialog, open, sort, setSort } = useSourcesUrl(isOwner);
  const [offset, setOffset] = useUrlOffset(false);
  const filters = useUrlFilters(SOURCE_FILTERS, RESET_BY_FILTERS);
  const list = useSources({
    ...filters.values,
    state: SOURCE_STATES.find((state) => state === filters.values.state),
    sort,
    limit: PAGE_ROWS,
    offset,
  });
  const isEmpty = list.data?.items.length === 0;
  const close = () => open();
  return (
    <Page
      title="Sources"
      lead="Watched web pages and files. Each is fetched on a schedule, and every version is kept."
      actions={isOwner && <Actions canCheck={(list.data?.total ?? 0) > 0} onOpen={open} />}
    >
      <CheckOutcome />
      {isOwner && <CaptureOutcome onOpen={() => open('captures')} />}
      {isOwner && <FoundNotice onOpen={() => open('found')} />}
      {(!isEmpty || filters.isAny) && <SourceFilterBar filters={filters} />}
      {!list.data && !list.error && <p className="muted">Loading…</p>}
      <FilteredList
        list={list}
        filters={filters}
        what="sources"
        limit={PAGE_ROWS}
        onOffset={setOffset}
        noMatch={['No source matches', 'A source must match every filter.']}
        empty={<NoSources isOwner={isOwner} onOpen={open} />}
        frame={(shown) => <div data-stale={list.isPlaceholderData || undefined}>{shown}</div>}
      >
        {(items) => <SourcesTable sources={items} isOwner={isOwner} sort={sort} onSort={setSort} />}
      </FilteredList>
      <Modal opened={dialog === 'add'} onClose={close} title="Watch a source" {...KEPT_FORM}>
        <AddSourceForm onClose={close} />
      </Modal>
      <Modal opened={dialog === 'list'} onClose={close} title="Add sources from a list" {...KEPT_FORM}>
        <AddListForm onClose={close} />
      </Modal>
      <Modal opened={dialog === 'captures'} onClose={close} title="Import captures" {...KEPT_FORM}>
        <ImportCapturesForm onClose={close} />
      </Modal>
      <Modal opened={dialog === 'found'} onClose={close} title="Found addresses" size="xl" centered={false}>
        <FoundList state="waiting" onLeave={close} />
      </Modal>
      <FormDialog opened={dialog === 'page'} onClose={close} title="Capture a page now" size="lg">
        <CaptureForm />
      </FormDialog>
    </Page>
  );
}

function Actions({ canCheck, onOpen }: { canCheck: boolean; onOpen: (name: Dialog) => void }) {
  const { start, isStarting } = useCollectionRun();
  return (
    <>
      {canCheck && (
        <IconButton
          icon={IconRefresh}
          loading={isStarting}
          onClick={() => void start({ what: 'all sources' })}
        >
          Check all now
        </IconButton>
      )}
      <IconButton icon={IconCamera} onClick={() => onOpen('page')}>
        Capture a page
      </IconButton>
      <IconButton icon={IconFileImport} onClick={() => onOpen('captures')}>
        Import captures
      </IconButton>
      <IconButton icon={IconListDetails} onClick={() => onOpen('list')}>
        Add list
      </IconButton>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => onOpen('add')}>
        Watch a source
      </Button>
    </>
  );
}

interface SourcesTableProps {
  sources: readonly VisibleSource[];
  isOwner: boolean;
  sort: string;
  onSort: (sort: string) => void;
}

function SourcesTable({ sources, isOwner, sort, onSort }: SourcesTableProps) {
  const navigate = useNavigate();
  const selection = useSelection(sources.map(({ id }) => id));
  const selected = sources.filter(({ id }) => selection.has(id));
  const selectAll = (
    <Checkbox
      size="xs"
      aria-label="Select all on this page"
      checked={selected.length === sources.length}
      indeterminate={selected.length > 0 && selected.length < sources.length}
      onChange={(event) => selection.setAll(event.currentTarget.checked)}
    />
  );
  const sortBy = (next: string) => {
    const column = next.replace(/^-/, '');
    const isOther = column !== sort.replace(/^-/, '');
    onSort(isOther && ASCENDING_FIRST.has(column) ? column : next);
  };
  return (
    <>
      {selected.length > 0 && <SelectionBar sources={selected} onClear={selection.clear} />}
      <DataTable
        caption="Watched sources"
        columns={isOwner ? ownerColumns(selection, selectAll) : VISITOR_COLUMNS}
        rows={sources}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate(`/sources/${id}`)}
        sort={sort}
        onSort={sortBy}
      />
    </>
  );
}

function NoSources({ isOwner, onOpen }: { isOwner: boolean; onOpen: (name: Dialog) => void }) {
  return (
    <EmptyState
      title="No sources yet"
      action={isOwner && <Button onClick={() => onOpen('add')}>Watch your first source</Button>}
    >
      {isOwner
        ? 'Enter the URL of a page or a file. It is fetched immediately and then on a schedule. Every version is kept byte for byte, with proof of when it was retrieved.'
        : 'Sources that the owner of this node watches will appear here.'}
    </EmptyState>
  );
}

/** Columns whose first click sorts from the beginning; times begin with the latest. */
const ASCENDING_FIRST: ReadonlySet<string> = new Set(['state', 'name', 'agency', 'next']);

export const SOURCE_FILTERS = ['q', 'state', 'agency', 'tag'] as const;
export type SourceFilterName = (typeof SOURCE_FILTERS)[number];

const STATE_OPTIONS = SOURCE_STATES.map((value) => ({ value, label: STATES.source[value].label }));

/** The filters of the source list, kept in the URL. */
export function SourceFilterBar({ filters }: { filters: UrlFilters<SourceFilterName> }) {
  const { values, set, clear, isAny } = filters;
  const { isUsed, props } = useFirstUse();
  const { agencies, tags, isLoaded } = useAgenciesAndTags(isUsed);
  return (
    <search className="mb-4 cluster gap-2" {...props}>
      <div className={classes.search}>
        <SearchField
          label="Search sources"
          placeholder="URL, name, agency or tag"
          value={values.q ?? ''}
          onChange={(q) => set({ q })}
        />
      </div>
      <Choice label="State" data={STATE_OPTIONS} value={values.state} onChange={(state) => set({ state })} />
      <Choice
        label="Agency"
        data={withOwn(agencies, values.agency)}
        isLoaded={isLoaded}
        value={values.agency}
        onChange={(agency) => set({ agency })}
      />
      <Choice
        label="Tag"
        data={withOwn(tags, values.tag)}
        isLoaded={isLoaded}
        value={values.tag}
        onChange={(tag) => set({ tag })}
      />
      {isAny && (
        <Button variant="subtle" onClick={clear}>
          Clear all
        </Button>
      )}
    </search>
  );
}

/** Values from the URL are offered even if no loaded source has them. */
function withOwn(values: string[], own: string | undefined): string[] {
  return own && !values.includes(own) ? [own, ...values] : values;
}

interface ChoiceProps {
  label: string;
  data: string[] | { value: string; label: string }[];
  /** False until the values are requested, which happens when the filters are first used. */
  isLoaded?: boolean;
  value: string | undefined;
  onChange: (value: string) => void;
}

function Choice({ label, data, isLoaded = true, value, onChange }: ChoiceProps) {
  return (
    <FilterSelect
      label={label}
      placeholder={`Any ${label.toLowerCase()}`}
      data={data}
      value={value}
      onChange={onChange}
      searchable={!isLoaded || data.length > 8}
      disabled={isLoaded && data.length === 0}
      className={classes.choice}
    />
  );
}

/** Captures one address as a person sees it, now. The address may be in the URL of the page. */
function CaptureForm() {
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const { form, save } = useItemForm({
    route: 'capturePage',
    initialValues: { url: search.get('page') ?? '' },
    validate: ({ url }) =>
      URL.canParse(withScheme(url.trim())) ? {} : { url: 'Enter the address of a page.' },
    request: ({ url }) => ({ body: { url: withScheme(url.trim()) } }),
    onSaved: ({ id }) => void navigate(`/pages/${id}`),
  });
  return (
    <DialogForm form={form} save={save} submit="Capture">
      <TextInput
        label="URL"
        description="An isolated browser opens the page, and everything that the page loads is stored. If the address is not watched yet, it becomes a paused source."
        placeholder="https://"
        inputMode="url"
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('url')}
      />
      {save.isPending && (
        <output className="small muted">Drawing the page. This can take up to a minute.</output>
      )}
    </DialogForm>
  );
}
