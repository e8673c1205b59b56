import { FileButton, SegmentedControl, Textarea, UnstyledButton } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type ListFormat, MAX_LIST_BYTES } from '../../../../../shared/collection/sourceList.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { useFileDrop } from '../../../components/forms/useFileDrop.ts';
import { formatBytes } from '../../../format/size.ts';
import classes from './AddList.module.css';
import { useListDraft } from './listDraft.ts';
import { detectListFormat, LIST_FORMATS, listSizeText } from './listFormat.ts';

export interface ListFieldsProps {
  isSending: boolean;
  error: unknown;
  onSend: (form: ListFormat) => void;
  onClose: () => void;
}

/** The input for a list and its format. */
export function ListFields({ isSending, error, onSend, onClose }: ListFieldsProps) {
  const { text, fileName, form: chosen, change } = useListDraft();
  const [unread, setUnread] = useState<unknown>();
  const form = chosen ?? detectListFormat(text, fileName);
  const isEmpty = text.trim() === '';
  const read = (file: File | null | undefined) => {
    if (!file) return;
    setUnread(undefined);
    readList(file).then((content) => change({ text: content, fileName: file.name, form: null }), setUnread);
  };
  const { ref, isOver } = useFileDrop<HTMLFormElement>(read);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isEmpty) onSend(form);
  };
  return (
    <form ref={ref} onSubmit={submit} className={classes.form} data-over={isOver || undefined}>
      <Textarea
        label="List"
        description={
          <>
            Paste a list, drop a file, or{' '}
            <FileButton onChange={read} accept=".txt,.csv,.opml,.xml,text/plain,text/csv,text/xml">
              {(props) => (
                <UnstyledButton {...props} className={classes.choose}>
                  choose a file
                </UnstyledButton>
              )}
            </FileButton>
            .
          </>
        }
        placeholder={'https://example.org/notices\nhttps://example.org/data.csv'}
        autosize
        minRows={8}
        maxRows={16}
        spellCheck={false}
        data-autofocus
        classNames={{ input: classes.typed }}
        value={text}
        onChange={(event) => change({ text: event.currentTarget.value })}
      />
      <FormatChoice form={form} />
      {unread !== undefined && <ErrorNote error={unread} />}
      {error !== null && error !== undefined && <ErrorNote error={error} />}
      <DialogButtons submit="Watch" isPending={isSending} isDisabled={isEmpty} onCancel={onClose} />
    </form>
  );
}

/** The format, and how the list is understood in it. */
function FormatChoice({ form }: { form: ListFormat }) {
  const { text, fileName, form: chosen, change } = useListDraft();
  return (
    <div className={classes.recognised}>
      <SegmentedControl
        size="xs"
        aria-label="List format"
        value={form}
        onChange={(value) => change({ form: value as ListFormat })}
        data={Object.entries(LIST_FORMATS).map(([value, { label }]) => ({ value, label }))}
      />
      <p className="small muted" aria-live="polite">
        {text.trim() !== '' && (
          <strong>
            {fileName && `${fileName}: `}
            {listSizeText(text, form)}
            {chosen === null &&
              `, detected as ${form === 'text' ? 'one URL per line' : LIST_FORMATS[form].label}`}
            .{' '}
          </strong>
        )}
        {LIST_FORMATS[form].description}
      </p>
    </div>
  );
}

/**
 * The text of a list file.
 * @throws Error with a message for the person.
 */
async function readList(file: File): Promise<string> {
  if (file.size > MAX_LIST_BYTES) {
    throw new Error(
      `${file.name} is ${formatBytes(file.size)}. The limit is ${formatBytes(MAX_LIST_BYTES)}. Split the list.`,
    );
  }
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not UTF-8. Save it as UTF-8 and choose it again.`);
  }
}
