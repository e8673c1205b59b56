import { ActionIcon, Button, Checkbox, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { RELATION_TYPES } from '../../../../../shared/archive/vocabulary.ts';
import { PackPicker } from '../../../components/forms/pickers/PackPicker.tsx';
import { relationLabel } from '../../../format/relationLabel.ts';
import { type Draft, type DraftRelated, rowKey } from '../draft.ts';
import { useField, usePackForm } from '../formContext.ts';
import { FormSection } from './FormSection.tsx';
import classes from './RowFields.module.css';

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
        <ul className={classes.rows}>
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
    <div className={classes.related}>
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
