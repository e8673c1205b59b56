import { ActionIcon, Button, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconX } from '@tabler/icons-react';
import { type DraftAuthor, emptyAuthor } from '../draft.ts';
import { useField, usePackForm } from '../formContext.ts';
import { FormSection } from './FormSection.tsx';
import classes from './RowFields.module.css';

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
      <ol className={classes.rows}>
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
    <div className={classes.author}>
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
