import { ActionIcon, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX, type TablerIcon } from '@tabler/icons-react';
import { type ClipboardEvent, type ReactNode, useId } from 'react';
import { useCall } from '../../../api/useCall.ts';
import { IconButton } from '../../../components/forms/buttons.tsx';
import classes from '../assemble.module.css';
import { type DraftResult, type ResultType, rowKey } from '../draft.ts';
import { isNumberText } from '../draftRecord.ts';
import { useInputs, usePackForm } from '../packForm.ts';

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
        <IconButton icon={IconPlus} onClick={() => set([...results, emptyResult()])}>
          Add result
        </IconButton>
      }
    >
      {results.length > 0 && (
        <ul className={`${classes.rows} plain stack gap-4`}>
          {results.map((result, index) => (
            <li key={result.key}>
              <ResultRow
                result={result}
                onPaste={(event) => pasteRows(event, index)}
                onChange={(changes) => set(results.with(index, { ...result, ...changes }))}
              />
              <span className={classes.tools}>
                <RowTool
                  label={`Remove result ${result.name || index + 1}`}
                  icon={IconX}
                  onClick={() => set(results.toSpliced(index, 1))}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
    </FormSection>
  );
}

interface RowToolProps {
  label: string;
  icon: TablerIcon;
  disabled?: boolean;
  onClick: () => void;
}

/** Moves or removes a row. */
export function RowTool({ label, icon: Icon, disabled, onClick }: RowToolProps) {
  return (
    <ActionIcon disabled={disabled} aria-label={label} onClick={onClick}>
      <Icon size={16} />
    </ActionIcon>
  );
}

interface ResultRowProps {
  result: DraftResult;
  onChange: (changes: Partial<DraftResult>) => void;
  onPaste: (event: ClipboardEvent) => void;
}

function ResultRow({ result, onChange, onPaste }: ResultRowProps) {
  const input = useInputs(result, onChange, 'results', result.key);
  return (
    <div className={`${classes.result} stack gap-3 start`}>
      <TextInput {...input.text('name')} label="Name" onPaste={onPaste} />
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
          {...input.text('value')}
          label="Value"
          disabled={result.type === 'null'}
          inputMode={result.type === 'number' ? 'decimal' : undefined}
          value={result.type === 'null' ? '' : result.value}
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

/** What the original pack of a replication reports under the same name. */
function OriginalValue({ name }: { name: string }) {
  const { draft } = usePackForm();
  const id = draft.replicates?.pack ?? null;
  const original = useCall('readPack', { params: { id: id ?? '' } }, { enabled: id !== null });
  const results = original.data?.results ?? {};
  const key = name.trim();
  if (id === null || !Object.hasOwn(results, key)) return null;
  return (
    <p className="muted small wrap-anywhere" style={{ gridColumn: '-2 / -1' }}>
      Original: <span className="numeric">{String(results[key])}</span>
    </p>
  );
}

interface FormSectionProps {
  title: string;
  /** What to enter, and why. */
  hint?: ReactNode;
  /** The id that issues of the whole section jump to. */
  field?: string;
  error?: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A section of the form with its own heading. */
export function FormSection({ title, hint, field, error, actions, children }: FormSectionProps) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id} id={field} tabIndex={field ? -1 : undefined}>
      <header>
        <div>
          <h2 id={id}>{title}</h2>
          {hint && <p className="measure mt-1 compact muted">{hint}</p>}
        </div>
        {actions}
      </header>
      <div className="stack gap-4">{children}</div>
      {error && (
        <p role="alert" className="mt-2 small bad">
          {error}
        </p>
      )}
    </section>
  );
}
