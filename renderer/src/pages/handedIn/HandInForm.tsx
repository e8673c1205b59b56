import { Button, Checkbox, Switch, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { mayHoldToken } from '../../../../shared/collection/handedIn.ts';
import { fieldErrors } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FileDropField } from '../../components/forms/FileDropField.tsx';
import classes from './HandedIn.module.css';
import { EMPTY_DRAFT, errorsOf, type HandInDraft, sendHandIn } from './handIn.ts';

interface HandInFormProps {
  /** What is filled in already. */
  given?: Partial<HandInDraft>;
  /** Opens the page of what was handed in; within this window by default. */
  open?: (path: string) => void;
}

/** The file, and what is said about it. */
export function HandInForm({ given, open }: HandInFormProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm({ initialValues: { ...EMPTY_DRAFT, ...given }, validate: errorsOf });
  const { file, url, fetch } = form.values;
  const send = useMutation({
    mutationFn: sendHandIn,
    onSuccess: async ({ id }) => {
      void queries.invalidateQueries();
      await (open ?? navigate)(`/handed-in/${id}`);
    },
    onError: (error) => form.setErrors(fieldErrors(error)),
  });
  return (
    <form
      onSubmit={form.onSubmit((draft) => send.mutate(draft))}
      className={`${classes.form} stack gap-4`}
      noValidate
    >
      <FileDropField
        label="File"
        file={file}
        endings=".mhtml, .html, .pdf, .png, .jpg, .webp or .gif"
        accept=".mhtml,.mht,.html,.htm,.xhtml,.pdf,.png,.jpg,.jpeg,.webp,.gif,multipart/related,text/html,application/pdf,image/png,image/jpeg,image/webp,image/gif"
        error={form.errors['file']}
        onFile={(chosen) => form.setFieldValue('file', chosen)}
      >
        <p className="small muted">
          In Chrome and Edge: “Save page as”, type “Webpage, Single File”. Nothing in the file runs here.
        </p>
      </FileDropField>
      <TextInput
        label="Address"
        description="The address that your browser showed. A page saved as a single file may name it itself."
        placeholder="https://example.org/account"
        inputMode="url"
        autoComplete="off"
        {...form.getInputProps('url')}
        onChange={(event) => form.setValues({ url: event.currentTarget.value, fetch_confirmed: false })}
      />
      <TextInput
        label="Title"
        description="Optional. Titles, notes and addresses are part of the record, which is public."
        autoComplete="off"
        {...form.getInputProps('title')}
      />
      <TextInput
        type="datetime-local"
        label="Seen"
        description="Default: now."
        {...form.getInputProps('seen_at')}
      />
      <Textarea
        label="Note"
        description="Optional. What a reader should know about it."
        {...form.getInputProps('note')}
      />
      <Textarea
        label="Quotation"
        description="Optional. A passage of the page that becomes a finding, with the note as its text. Findings are public. Visitors read the passage only where they may read the page."
        maxRows={8}
        {...form.getInputProps('quote')}
      />
      <Switch
        label="Not shown to visitors"
        description="The file and its parts are withheld, because they were behind a login. Their record and their digests stay public. You can show them later."
        {...form.getInputProps('withheld', { type: 'checkbox' })}
      />
      <Checkbox
        label="Also fetch and draw what the public gets"
        description="The node opens the same address now, without your login, and shows both side by side."
        {...form.getInputProps('fetch', { type: 'checkbox' })}
        onChange={(event) => form.setValues({ fetch: event.currentTarget.checked, fetch_confirmed: false })}
      />
      {fetch && (form.errors['fetch_confirmed'] !== undefined || mayHoldToken(url.trim())) && (
        <Checkbox
          label="Fetch this address although it may hold a token"
          description="Whoever fetches such an address may act in your name, and what it shows may then be public."
          {...form.getInputProps('fetch_confirmed', { type: 'checkbox' })}
        />
      )}
      {send.error && <ErrorNote error={send.error} />}
      <div>
        <Button type="submit" loading={send.isPending}>
          Hand in
        </Button>
      </div>
    </form>
  );
}
