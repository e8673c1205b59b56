import { ActionIcon, Button, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { ClipboardEvent } from 'react';
import { type DraftResult, type ResultType, rowKey } from '../draft.ts';
import { isNumberText } from '../draftRecord.ts';
import { useField, usePackForm } from '../formContext.ts';
import { FormSection } from './FormSection.tsx';
import { OriginalValue } from './OriginalValue.tsx';
import classes from './RowFields.module.css';

const TYPES: { value: ResultType; label: string }[] = [
  { value: 'number', label: 'number' },
  { value: 'text', label: 'text' },
  { value: 'boolean', label: 'true / false' },
  { value: 'null', label: 'null' },
];

function emptyResult(): DraftResult {
  return { key: rowKey(), name: '', type: 'number', value: '' };
}

/** Named results, which a study's table compares across packs. */
export function ResultsSection() {
  const { draft, change } = usePackForm();
  const { results } = draft;
  const set = (next: DraftResult[]) => change({ results: next });
  const pasteRows = (event: ClipboardEvent, index: number) => {
    const rows = readRows(event.clipboardData.getData('text/plain'));
    if (rows.length === 0) return;
    event.preventDefault();
    set(results.toSpliced(index, results[index]?.name === '' ? 1 : 0, ...rows));
  };
  return (
    <FormSection
      title="Results"
      hint="The key numbers, by name. A study’s table compares results of the same name across packs. You can paste rows from a spreadsheet."
      field="field/results"
      actions={
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => set([...results, emptyResult()])}
        >
          Add result
        </Button>
      }
    >
      {results.length > 0 && (
        <ul className={classes.rows}>
          {results.map((result, index) => (
            <li key={result.key}>
              <ResultRow
                result={result}
                onPaste={(event) => pasteRows(event, index)}
                onChange={(changes) => set(results.with(index, { ...result, ...changes }))}
              />
              <span className={classes.tools}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove result ${result.name || index + 1}`}
                  onClick={() => set(results.toSpliced(index, 1))}
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

interface ResultRowProps {
  result: DraftResult;
  onChange: (changes: Partial<DraftResult>) => void;
  onPaste: (event: ClipboardEvent) => void;
}

function ResultRow({ result, onChange, onPaste }: ResultRowProps) {
  const name = useField('results', result.key, 'name');
  const value = useField('results', result.key, 'value');
  return (
    <div className={classes.result}>
      <TextInput
        {...name}
        label="Name"
        value={result.name}
        onPaste={onPaste}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Select
        label="Type"
        data={TYPES}
        value={result.type}
        allowDeselect={false}
        onChange={(type) => onChange({ type: type as ResultType })}
      />
      {result.type === 'boolean' ? (
        <Select
          label="Value"
          data={['true', 'false']}
          value={result.value === 'true' ? 'true' : 'false'}
          allowDeselect={false}
          onChange={(value) => onChange({ value: value ?? 'false' })}
        />
      ) : (
        <TextInput
          {...value}
          label="Value"
          disabled={result.type === 'null'}
          inputMode={result.type === 'number' ? 'decimal' : undefined}
          value={result.type === 'null' ? '' : result.value}
          onChange={(event) => onChange({ value: event.currentTarget.value })}
        />
      )}
      <OriginalValue name={result.name} />
    </div>
  );
}

/** Rows pasted from a spreadsheet: name, tab, value. Returns none for plain text. */
function readRows(text: string): DraftResult[] {
  if (!text.includes('\t')) return [];
  return text.split(/\r?\n/).flatMap((line) => {
    const [name = '', value = ''] = line.split('\t');
    if (name.trim() === '') return [];
    const type = isNumberText(value) ? 'number' : /^(true|false)$/i.test(value.trim()) ? 'boolean' : 'text';
    return [
      {
        key: rowKey(),
        name: name.trim(),
        type,
        value: type === 'boolean' ? value.trim().toLowerCase() : value.trim(),
      },
    ];
  });
}
