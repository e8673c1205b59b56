import { Checkbox, Select, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconX } from '@tabler/icons-react';
import { RELATION_TYPES } from '../../../../../shared/archive/vocabulary.ts';
import { IconButton } from '../../../components/forms/buttons.tsx';
import { PackPicker } from '../../../components/forms/pickers.tsx';
import { relationLabel } from '../../../format.ts';
import classes from '../assemble.module.css';
import { type Draft, type DraftAuthor, type DraftRelated, emptyAuthor, rowKey } from '../draft.ts';
import { useInputs, usePackForm, useReplicationInputs } from '../packForm.ts';
import { FormSection, RowTool } from './ResultsSection.tsx';

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
        <IconButton icon={IconPlus} onClick={() => set([...authors, emptyAuthor()])}>
          Add author
        </IconButton>
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
            <span className={classes.tools}>
              <RowTool
                label={`Move author ${index + 1} up`}
                icon={IconArrowUp}
                disabled={index === 0}
                onClick={() => move(index, -1)}
              />
              <RowTool
                label={`Move author ${index + 1} down`}
                icon={IconArrowDown}
                disabled={index === authors.length - 1}
                onClick={() => move(index, 1)}
              />
              <RowTool
                label={`Remove author ${index + 1}`}
                icon={IconX}
                disabled={authors.length === 1}
                onClick={() => set(authors.toSpliced(index, 1))}
              />
            </span>
          </li>
        ))}
      </ol>
    </FormSection>
  );
}

interface AuthorRowProps {
  author: DraftAuthor;
  index: number;
  onChange: (changes: Partial<DraftAuthor>) => void;
}

function AuthorRow({ author, index, onChange }: AuthorRowProps) {
  const input = useInputs(author, onChange, 'authors', index);
  return (
    <div className={`${classes.author} stack gap-3 start`}>
      <TextInput {...input.text('name')} label="Name" autoComplete="off" />
      <TextInput
        {...input.text('orcid')}
        label="ORCID iD (optional)"
        placeholder="0000-0002-1825-0097"
        autoComplete="off"
      />
      <TextInput {...input.text('affiliation')} label="Affiliation (optional)" autoComplete="off" />
    </div>
  );
}

const RELATIONS = RELATION_TYPES.map((value) => ({ value, label: relationLabel(value) }));

/** Related work: replications, versions and publications. */
export function RelationsSection() {
  const { draft, change } = usePackForm();
  const input = useInputs(draft, change);
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
          {...input.value('supersedes')}
          label="This is a new version of an earlier pack"
          description="Both versions stay in the archive. The earlier one links to this one."
        />
      </FormSection>
      <RelatedWorks />
    </>
  );
}

function ReplicationFields({ replicates }: { replicates: NonNullable<Draft['replicates']> }) {
  const input = useReplicationInputs(replicates);
  return (
    <PackPicker
      {...input.value('pack')}
      label="Original pack"
      description="The verdict is at the top of this form."
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
        <IconButton
          icon={IconPlus}
          onClick={() => set([...related, { key: rowKey(), relation: 'IsSupplementTo', identifier: '' }])}
        >
          Add related work
        </IconButton>
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
                <RowTool
                  label={`Remove related work ${index + 1}`}
                  icon={IconX}
                  onClick={() => set(related.toSpliced(index, 1))}
                />
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
  const input = useInputs(work, onChange, 'related', index);
  return (
    <div className={`${classes.related} stack gap-3 start`}>
      <Select
        {...input.value('relation')}
        label="This pack"
        data={RELATIONS}
        searchable
        allowDeselect={false}
        onChange={(value) => onChange({ relation: value ?? '' })}
      />
      <TextInput
        {...input.text('identifier')}
        label="Identifier"
        placeholder="10.1234/abc, https://…, or 64 hex digits"
      />
    </div>
  );
}
