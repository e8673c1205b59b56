import { TextInput } from '@mantine/core';
import { useNavigate, useSearchParams } from 'react-router';
import {
  DialogForm,
  FormDialog,
  type FormDialogControls,
  useItemForm,
} from '../../../components/forms/DialogForm.tsx';

interface CapturePageNowProps {
  opened: boolean;
  onClose: () => void;
}

/** Captures one address as a person sees it, now. The address may be in the URL of the page. */
export function CapturePageNow({ opened, onClose }: CapturePageNowProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Capture a page now" size="lg">
      {(controls) => <CaptureForm {...controls} />}
    </FormDialog>
  );
}

function CaptureForm(controls: FormDialogControls) {
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const { form, save } = useItemForm({
    route: 'capturePage',
    initialValues: { url: search.get('page') ?? '' },
    validate: ({ url }) => (URL.canParse(addressOf(url)) ? {} : { url: 'Enter the address of a page.' }),
    request: ({ url }) => ({ body: { url: addressOf(url) } }),
    onSaved: ({ id }) => {
      controls.onDone();
      void navigate(`/pages/${id}`);
    },
  });
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Capture">
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

function addressOf(typed: string): string {
  const text = typed.trim();
  return text === '' || /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
}
