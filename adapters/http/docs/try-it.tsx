import { exampleOf } from '../document/samples.js';
import { jsonSchemaOf } from '../schema/json-schema.js';
import { templateOf, type Route } from '../server/route.js';
import type { DocsPage } from './page.js';

/** The inputs of a call besides its body, by where they are sent. */
const inputsOf = ({ params, query, headers = {} }: Route) =>
  Object.entries({ path: params.shape, query: query.shape, header: headers }).flatMap(([place, named]) =>
    Object.keys(named).map((name) => ({ place, name })),
  );

/** A form that sends the call, for browsers with scripts; null for streams, which have no end. */
export const TryIt = ({ route }: { readonly route: Route }) => {
  const { id: operation, method, path, access, body } = route;
  if (Object.values(route.responses).some(({ type }) => type === 'text/event-stream')) return null;
  const example = body && JSON.stringify(exampleOf(jsonSchemaOf(body.schema)), null, 2);
  return (
    <details class="try">
      <summary>
        Try it<span class="hidden">: {route.summary}</span>
      </summary>
      <noscript>
        <p>Sending needs a script. The samples do the same in a terminal.</p>
      </noscript>
      <form data-method={method} data-path={templateOf(path)} data-access={access.kind}>
        {method === 'GET' || access.kind === 'public' ? null : (
          <p class="note">
            This is a real call: it changes data of this service. A card that a service in production accepts
            is made, mailed and charged; one on your own machine is not mailed.
          </p>
        )}
        {inputsOf(route).map(({ place, name }) => {
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
        })}
        {example === null ? null : (
          <>
            <label for={`${operation}-body`}>Body</label>
            <textarea
              id={`${operation}-body`}
              data-in="body"
              rows={example.split('\n').length + 1}
              spellcheck={false}
            >
              {example}
            </textarea>
          </>
        )}
        {access.kind === 'key' || access.kind === 'operator' ? (
          <p>
            It is sent with the {access.kind === 'key' ? 'key' : 'operator token'} in{' '}
            <a href="#key">the field at the top</a>.
          </p>
        ) : null}
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
