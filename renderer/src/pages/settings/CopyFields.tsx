import { NumberInput, type NumberInputProps, PasswordInput, TextInput } from '@mantine/core';

/** How often a copy is synced. */
export function SyncInterval(props: NumberInputProps) {
  return (
    <NumberInput
      label="Sync every"
      description="Minutes between two syncs while the copy is behind. Default: 5."
      min={1}
      max={43_200}
      allowDecimal={false}
      hideControls
      {...props}
    />
  );
}

interface BucketAccessProps {
  form: { getInputProps: (field: 'endpoint' | 'region' | 'access_key' | 'secret_key') => object };
  aboutEndpoint: string;
  aboutKey: string;
}

/** Where the object store of a bucket is, and the key for it. */
export function BucketAccess({ form, aboutEndpoint, aboutKey }: BucketAccessProps) {
  return (
    <>
      <TextInput
        label="Endpoint"
        description={aboutEndpoint}
        placeholder="https://s3.example.org"
        {...form.getInputProps('endpoint')}
      />
      <TextInput label="Region" placeholder="us-east-1" {...form.getInputProps('region')} />
      <TextInput
        label="Access key"
        description={aboutKey}
        autoComplete="off"
        {...form.getInputProps('access_key')}
      />
      <PasswordInput label="Secret" autoComplete="off" {...form.getInputProps('secret_key')} />
    </>
  );
}

/** The access key and its secret are given together, or not at all. */
export function checkSecret(secret: string, accessKey: string): string | null {
  return !secret === !accessKey ? null : 'The access key and its secret belong together.';
}
