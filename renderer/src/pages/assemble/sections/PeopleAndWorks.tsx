import { ActionIcon, Button, Checkbox, Select, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconX } from '@tabler/icons-react';
import { RELATION_TYPES } from '../../../../../shared/archive/vocabulary.ts';
import { PackPicker } from '../../../components/forms/pickers.tsx';
import { relationLabel } from '../../../format.ts';
import classes from '../assemble.module.css';
import { type Draft, type DraftAuthor, type DraftRelated, emptyAuthor, rowKey } from '../draft.ts';
import { useField, usePackForm } from '../packForm.ts';
import { FormSection } from './ResultsSection.tsx';

/** The authors, in citation order. */
export function AuthorsSection() {
  const { draft, change, errorOf } = usePackForm();
  const { authors } = draft;
  const set = (next: DraftAuthor[]) => change({ authors: next });
  const move = (index: number, by: number) => {
    const moved = authors[index];
    if (moved) set(authors.toSpliced(index, 1).toSpliced(index + by, 0, moved));
  };
  return (
    <FormSection
      title="Authors"
      hint="In citation order. An ORCID iD distinguishes people with the same name."
      field="field/authors"
      error={errorOf('field/authors')}
      actions={
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => set([...authors, emptyAuthor()])}
        >
          Add author
        </Button>
      }
    >
      <ol className={`${classes.rows} plain stack gap-4`}>
        {authors.map((author, index) => (
          <li key={author.key}>
            <AuthorRow
              author={author}
              index={index}
              onChange={(changes) => set(authors.with(index, { ...author, ...changes }))}
            />
            <AuthorTools
              index={index}
              count={authors.length}
              onMove={(by) => move(index, by)}
              onRemove={() => set(authors.toSpliced(index, 1))}
            />
          </li>
        ))}
      </ol>
    </FormSection>
  );
}

interface AuthorToolsProps {
  index: number;
  count: number;
  onMove: (by: 1 | -1) => void;
  onRemove: () => void;
}

function AuthorTools({ index, count, onMove, onRemove }: AuthorToolsProps) {
  return (
    <span className={classes.tools}>
      <ActionIcon
        variant="subtle"
        color="gray"
        disabled={index === 0}
        aria-label={`Move author ${index + 1} up`}
        onClick={() => onMove(-1)}
      >
        <IconArrowUp size={16} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        disabled={index === count - 1}
        aria-label={`Move author ${index + 1} down`}
        onClick={() => onMove(1)}
      >
        <IconArrowDown size={16} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        disabled={count === 1}
        aria-label={`Remove author ${index + 1}`}
        onClick={onRemove}
      >
        <IconX size={16} />
      </ActionIcon>
    </span>
  );
}

interface AuthorRowProps {
  author: DraftAuthor;
  index: number;
  onChange: (changes: Partial<DraftAuthor>) => void;
}

function AuthorRow({ author, index, onChange }: AuthorRowProps) {
  const name = useField('authors', index, 'name');
  const orcid = useField('authors', index, 'orcid');
  const affiliation = useField('authors', index, 'affiliation');
  return (
    <div className={`${classes.author} stack gap-3 start`}>
      <TextInput
        {...name}
        label="Name"
        autoComplete="off"
        value={author.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <TextInput
        {...orcid}
        label="ORCID iD (optional)"
        placeholder="0000-0002-1825-0097"
        autoComplete="off"
        value={author.orcid}
        onChange={(event) => onChange({ orcid: event.currentTarget.value })}
      />
      <TextInput
        {...affiliation}
        label="Affiliation (optional)"
        autoComplete="off"
        value={author.affiliation}
        onChange={(event) => onChange({ affiliation: event.currentTarget.value })}
      />
    </div>
  );
}

const RELATIONS = RELATION_TYPES.map((value) => ({ value, label: relationLabel(value) }));

/** Related work: replications, versions and publications. */
export function RelationsSection() {
  const { draft, change } = usePackForm();
  const supersedes = useField('supersedes');
  return (
    <>
      <FormSection title="Replication" field="field/replicates">
        <Checkbox
          label="This pack replicates another one"
          description="It repeats someone else’s work, whatever the outcome."
          checked={draft.replicates !== null}
          onChange={(event) =>
            change({
              replicates: event.currentTarget.checked ? { pack: null, verdict: null, note: '' } : null,
            })
          }
        />
        {draft.replicates && <ReplicationFields replicates={draft.replicates} />}
      </FormSection>
      <FormSection title="Earlier version">
        <PackPicker
          {...supersedes}
          label="This is a new version of an earlier pack"
          description="Both versions stay in the archive. The earlier one links to this one."
          value={draft.supersedes}
          onChange={(value) => change({ supersedes: value })}
        />
      </FormSection>
      <RelatedWorks />
    </>
  );
}

function ReplicationFields({ replicates }: { replicates: NonNullable<Draft['replicates']> }) {
  const { change } = usePackForm();
  const pack = useField('replicates', 'pack');
  return (
    <PackPicker
      {...pack}
      label="Original pack"
      description="The verdict is at the top of this form."
      value={replicates.pack}
      onChange={(value) => change({ replicates: { ...replicates, pack: value } })}
    />
  );
}

function RelatedWorks() {
  const { draft, change } = usePackForm();
  const { related } = draft;
  const set = (next: DraftRelated[]) => change({ related: next });
  return (
    <FormSection
      title="Related works"
      hint="Papers, data or software elsewhere, by DOI, URL or SHA-256 digest."
      field="field/related"
      actions={
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => set([...related, { key: rowKey(), relation: 'IsSupplementTo', identifier: '' }])}
        >
          Add related work
        </Button>
      }
    >
      {related.length > 0 && (
        <ul className={`${classes.rows} plain stack gap-4`}>
          {related.map((work, index) => (
            <li key={work.key}>
              <RelatedRow
                work={work}
                index={index}
                onChange={(changes) => set(related.with(index, { ...work, ...changes }))}
              />
              <span className={classes.tools}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove related work ${index + 1}`}
                  onClick={() => set(related.toSpliced(index, 1))}
                >
                  <IconX size={16} />
                </ActionIcon>
              </span>
            </li>
          ))}
        </ul>
      )}
    </FormSection>
  );
}

interface RelatedRowProps {
  work: DraftRelated;
  index: number;
  onChange: (changes: Partial<DraftRelated>) => void;
}

function RelatedRow({ work, index, onChange }: RelatedRowProps) {
  const relation = useField('related', index, 'relation');
  const identifier = useField('related', index, 'identifier');
  return (
    <div className={`${classes.related} stack gap-3 start`}>
      <Select
        {...relation}
        label="This pack"
        data={RELATIONS}
        searchable
        allowDeselect={false}
        value={work.relation}
        onChange={(value) => onChange({ relation: value ?? '' })}
      />
      <TextInput
        {...identifier}
        label="Identifier"
        placeholder="10.1234/abc, https://…, or 64 hex digits"
        value={work.identifier}
        onChange={(event) => onChange({ identifier: event.currentTarget.value })}
      />
    </div>
  );
}
