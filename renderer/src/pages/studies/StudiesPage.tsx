import { Button, Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { newStudySchema, type Study, studyStatusSchema } from '../../../../shared/archive/study.ts';
import { useCall } from '../../api/useCall.ts';
import {
  type Column,
  DataTable,
  FilteredList,
  RowLink,
  timeColumn,
  useUrlOffset,
} from '../../components/data/DataTable.tsx';
import { StateBadge } from '../../components/data/Values.tsx';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, useItemForm } from '../../components/forms/DialogForm.tsx';
import {
  FilterSelect,
  SearchField,
  type UrlFilters,
  useUrlFilters,
} from '../../components/forms/filters.tsx';
import { SubjectPicker } from '../../components/forms/pickers.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';

const PAGE_SIZE = 100;
const FILTERS = ['q', 'status', 'node'] as const;
const RESET = ['offset'];

const COLUMNS: Column<Study>[] = [
  {
    id: 'title',
    header: 'Title',
    cell: (study) => (
      <>
        <RowLink to={`/studies/${study.id}`}>{study.title}</RowLink>
        {study.question && <div className="clamp clamp-1 measure muted small">{study.question}</div>}
        <div data-show="narrow">
          <StateBadge kind="study" value={study.status} />
        </div>
      </>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: '8rem',
    hideBelow: 'narrow',
    cell: (study) => <StateBadge kind="study" value={study.status} />,
  },
  {
    id: 'node',
    header: 'Subject',
    width: '14rem',
    hideBelow: 'medium',
    cell: (study) => <span className="mono small muted">{study.node}</span>,
  },
  {
    id: 'packs',
    header: 'Packs',
    width: '5rem',
    align: 'end',
    cell: (study) => formatCount(study.counts.packs),
  },
  timeColumn('Created', (study) => study.created_at, { align: 'end', hideBelow: 'narrow' }),
];

function StudyFilters({ filters }: { filters: UrlFilters<(typeof FILTERS)[number]> }) {
  return (
    <search className="mb-3 cluster gap-2 stretch">
      <div className="grow">
        <SearchField
          label="Search studies"
          placeholder="Title, question or description"
          value={filters.values.q ?? ''}
          onChange={(q) => filters.set({ q })}
        />
      </div>
      <FilterSelect
        label="Status"
        data={studyStatusSchema.options}
        value={filters.values.status}
        onChange={(status) => filters.set({ status })}
        w={140}
      />
      <SubjectPicker
        aria-label="Subject (including those below)"
        placeholder="Subject"
        value={filters.values.node ?? null}
        onChange={(node) => filters.set({ node: node ?? '' })}
        w={240}
      />
    </search>
  );
}

/** The list of studies. */
export default function StudiesPage() {
  const mayContribute = useMayContribute();
  const filters = useUrlFilters(FILTERS, RESET);
  const [isCreating, creating] = useDisclosure(false);
  const [offset] = useUrlOffset();
  const studies = useCall(
    'listStudies',
    { query: { ...filters.values, offset, limit: PAGE_SIZE } },
    { keepPrevious: true },
  );
  const create = mayContribute && (
    <Button onClick={creating.open} leftSection={<IconPlus size={17} aria-hidden />}>
      New study
    </Button>
  );
  return (
    <Page title="Studies" actions={create}>
      <NewStudyDialog opened={isCreating} onClose={creating.close} />
      <StudyFilters filters={filters} />
      <FilteredList
        list={studies}
        filters={filters}
        what="studies"
        one="study"
        limit={PAGE_SIZE}
        noMatch={['No study matches', 'A study must contain all words and match every filter.']}
        empty={
          <EmptyState title="No studies yet" action={create}>
            A study is a question that several packs help to answer, such as one result repeated by five labs.
            Its table compares their results.
          </EmptyState>
        }
      >
        {(items) => <DataTable caption="Studies" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />}
      </FilteredList>
    </Page>
  );
}

interface NewStudyDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The path of the study's subject, if the page knows it. */
  node?: string;
}

/** Creates a study and opens its page. */
export function NewStudyDialog({ opened, onClose, node }: NewStudyDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="New study" size="lg">
      <NewStudyForm node={node} />
    </FormDialog>
  );
}

function NewStudyForm({ node }: Pick<NewStudyDialogProps, 'node'>) {
  const navigate = useNavigate();
  const { form, save } = useItemForm({
    route: 'createStudy',
    initialValues: emptyStudy(node),
    validate: newStudySchema,
    request: (values) => ({ body: values }),
    onSaved: ({ id }) => navigate(`/studies/${id}`),
  });
  return (
    <DialogForm form={form} save={save} submit="Create study">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea
        label="Question"
        description="The one question that the packs of this study help to answer."
        maxRows={6}
        {...form.getInputProps('question')}
      />
      <Textarea
        label="Description"
        description="Protocol, registration, participants and anything else about the study. Markdown is supported."
        minRows={3}
        maxRows={14}
        {...form.getInputProps('description')}
      />
      <SubjectPicker
        label="Subject"
        description="What the study is filed under. Optional."
        value={form.values.node}
        onChange={(path) => form.setFieldValue('node', path)}
        error={form.errors.node}
      />
      <Radio.Group label="Status" {...form.getInputProps('status')}>
        <Stack gap="xs" mt="xs">
          <Radio value="planned" label="planned: not started" />
          <Radio value="running" label="running: in progress" />
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}

function emptyStudy(node: string | undefined) {
  const status: 'planned' | 'running' = 'planned';
  return { title: '', question: '', description: '', node: node ?? null, status };
}
