import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { templateOf, type Route } from '../server/route.js';
import { exampleOf } from '../document/samples.js';
import type { Html } from '../web/prose.js';
import type { DocsPage } from './page.js';

interface InputProps {
  readonly operation: string;
  readonly place: 'path' | 'query' | 'header';
  readonly name: string;
}

const Input = ({ operation, place, name }: InputProps) => {
  const id = `${operation}-${place}-${name}`;
  const required = place === 'path';
  return (
    <>
      <label for={id}>
        <code>{name}</code>
        {required ? '' : ' (optional)'}
      </label>
      <input
        id={id}
        data-in={place}
        data-name={name}
        autocomplete="off"
        spellcheck={false}
        required={required}
      />
    </>
  );
};

const warning = ({ method, access }: Route): Html | null =>
  method === 'GET' || access.kind === 'public' ? null : (
    <p class="note">
      This is a real call: it changes data of this service. A card that a service in production accepts is
      made, mailed and charged; one on your own machine is not mailed.
    </p>
  );

const credential = ({ access }: Route): Html | null =>
  access.kind === 'key' || access.kind === 'operator' ? (
    <p>
      It is sent with the {access.kind === 'key' ? 'key' : 'operator token'} in{' '}
      <a href="#key">the field at the top</a>.
    </p>
  ) : null;

const BodyField = ({ id, schema }: { readonly id: string; readonly schema: JsonSchema }) => {
  const example = JSON.stringify(exampleOf(schema), null, 2);
  return (
    <>
      <label for={id}>Body</label>
      <textarea id={id} data-in="body" rows={example.split('\n').length + 1} spellcheck={false}>
        {example}
      </textarea>
    </>
  );
};

const inputsOf = ({ params, query, headers = {} }: Route) => [
  ...Object.keys(params.shape).map((name) => ['path', name] as const),
  ...Object.keys(query.shape).map((name) => ['query', name] as const),
  ...Object.keys(headers).map((name) => ['header', name] as const),
];

/** A form that sends the call, for browsers with scripts; null for streams, which have no end. */
export const TryIt = ({ route }: { readonly route: Route }) => {
  const { method, path } = route;
  if (Object.values(route.responses).some(({ type }) => type === 'text/event-stream')) return null;
  return (
    <details class="try">
      <summary>
        Try it<span class="hidden">: {route.summary}</span>
      </summary>
      <noscript>
        <p>Sending needs a script. The samples do the same in a terminal.</p>
      </noscript>
      <form data-method={method} data-path={templateOf(path)} data-access={route.access.kind}>
        {warning(route)}
        {inputsOf(route).map(([place, name]) => (
          <Input operation={route.id} place={place} name={name} />
        ))}
        {route.body === null ? null : (
          <BodyField id={`${route.id}-body`} schema={jsonSchemaOf(route.body.schema)} />
        )}
        {credential(route)}
        <button type="submit">Send {method}</button>
        <div class="response" role="status" aria-live="polite"></div>
      </form>
    </details>
  );
};

/** Where the key for all forms of a page is typed in. */
export const Credentials = ({ for: audience }: Pick<DocsPage, 'for'>) => (
  <form id="credentials" class="credentials">
    <div>
      <label for="key">{audience === 'customers' ? 'Your key' : 'The operator token'}, to try calls</label>
      <span class="hint">It stays in this page and is gone when you close it.</span>
    </div>
    <input id="key" type="password" autocomplete="off" spellcheck={false} />
  </form>
);
