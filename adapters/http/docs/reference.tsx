import { errorCodes } from '../../../domain/errors.js';
import { jsonSchemaOf, type JsonSchema } from '../json-schema.js';
import { description, errorsOf, tagDescriptions } from '../openapi.js';
import { success, templateOf, type Route } from '../route.js';
import { exampleOf } from '../samples.js';

import { errorLinks } from './errors.js';
import { guides, guideSections } from './guides.js';
import { inline, prose, type Html } from '../web/prose.js';

interface Row {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

const alternatives = (schema: JsonSchema): readonly JsonSchema[] => schema.anyOf ?? [schema];
const concrete = (schema: JsonSchema): JsonSchema =>
  alternatives(schema).find((candidate) => candidate.type !== 'null') ?? schema;

/** The fields of an object, those inside objects and lists under dotted names. */
const rowsOf = (schema: JsonSchema, prefix = ''): readonly Row[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const here = {
      name: `${prefix}${name}`,
      schema: property,
      required: schema.required?.includes(name) === true,
    };
    const inside = concrete(property);
    return [
      here,
      ...rowsOf(inside, `${prefix}${name}.`),
      ...(inside.items === undefined ? [] : rowsOf(concrete(inside.items), `${prefix}${name}[].`)),
    ];
  });

const typeOf = (schema: JsonSchema): string => {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return `always ${JSON.stringify(schema.const)}`;
  const type = typeof schema.type === 'string' ? schema.type : (schema.type?.join(' or ') ?? 'any');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  return schema.format === undefined ? type : `${type} (${schema.format})`;
};

const valuesOf = ({ enum: values }: JsonSchema): string | null =>
  values?.map((value) => `\`${value}\``).join(', ') ?? null;

const rangeOf = ({ minimum, maximum }: JsonSchema): string => {
  const to =
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
      ? ''
      : ` to ${maximum.toLocaleString('en-US')}`;
  return minimum === undefined || (minimum === 0 && to === '') ? '' : `From ${minimum}${to}.`;
};

const limits = (schema: JsonSchema): string =>
  [
    valuesOf(schema) === null ? '' : `One of ${valuesOf(schema)}.`,
    schema.items === undefined || valuesOf(schema.items) === null ? '' : `Any of ${valuesOf(schema.items)}.`,
    rangeOf(schema),
    schema.maxLength === undefined ? '' : `At most ${schema.maxLength} characters.`,
    schema.default === undefined || schema.default === null ? '' : `Default \`${schema.default}\`.`,
  ]
    .filter((text) => text !== '')
    .join(' ');

const table = (label: string, rows: readonly Row[], withRequired: boolean): Html | null =>
  rows.length === 0 ? null : (
    <div class="scroll" role="region" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            {withRequired ? <th scope="col">Required</th> : null}
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, schema, required }) => (
            <tr>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>{typeOf(schema)}</td>
              {withRequired ? <td data-label="required">{required ? 'yes' : 'no'}</td> : null}
              <td>{inline([schema.description ?? '', limits(concrete(schema))].join(' ').trim())}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );

const accessOf = ({ access }: Route): string => {
  switch (access.kind) {
    case 'key':
      return access.scope === null
        ? 'Needs an API key.'
        : `Needs an API key with the scope \`${access.scope}\`.`;
    case 'operator':
      return 'Needs the operator token.';
    case 'hook':
      return 'Needs no key: the token in the path is the credential.';
    case 'page':
    case 'public':
      return 'Needs no key.';
  }
};

const input = (route: Route, place: 'path' | 'query' | 'header', name: string, required: boolean): Html => {
  const id = `${route.operation.operationId}-${place}-${name}`;
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
      There is no sandbox: this changes real data, and a card that you send is mailed and charged.
    </p>
  );

const credential = ({ access }: Route): Html | null =>
  access.kind === 'key' || access.kind === 'operator' ? (
    <p>
      It is sent with the {access.kind === 'key' ? 'key' : 'operator token'} in{' '}
      <a href="#key">the field above</a>.
    </p>
  ) : null;

const bodyField = (id: string, schema: JsonSchema): Html => {
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

const tryIt = (route: Route): Html | null => {
  const { operation, method, path } = route;
  if (Object.values(operation.responses).some(({ type }) => type === 'text/event-stream')) return null;
  const id = operation.operationId;
  return (
    <details class="try">
      <summary>
        Try it<span class="hidden">: {operation.summary}</span>
      </summary>
      <form data-method={method} data-path={templateOf(path)} data-access={route.access.kind}>
        {warning(route)} {Object.keys(route.params.shape).map((name) => input(route, 'path', name, true))}
        {Object.keys(route.query.shape).map((name) => input(route, 'query', name, false))}
        {Object.keys(operation.headers ?? {}).map((name) => input(route, 'header', name, false))}
        {route.body === null ? null : bodyField(`${id}-body`, jsonSchemaOf(route.body))} {credential(route)}
        <button type="submit">Send {method}</button>
        <div class="response" role="status" aria-live="polite"></div>
      </form>
    </details>
  );
};

const operationSection = (route: Route): Html => {
  const { method, path, operation } = route;
  const headers = Object.entries(operation.headers ?? {}).map(([name, { description: about, schema }]) => ({
    name,
    schema: { ...schema, description: about },
    required: false,
  }));
  return (
    <section id={operation.operationId} class="operation" aria-labelledby={`${operation.operationId}-title`}>
      <h3 id={`${operation.operationId}-title`}>{operation.summary}</h3>
      <p>
        <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>{templateOf(path)}</code>
      </p>
      <p>{inline(accessOf(route))}</p>
      {operation.description === undefined ? null : prose(operation.description)}
      {table(
        `Parameters of ${operation.summary}`,
        [...rowsOf(jsonSchemaOf(route.params)), ...rowsOf(jsonSchemaOf(route.query)), ...headers],
        true,
      )}
      {route.body === null ? null : (
        <>
          <h4>Body</h4>
          {table(`Body of ${operation.summary}`, rowsOf(jsonSchemaOf(route.body)), true)}
        </>
      )}
      {Object.entries(operation.responses).map(([status, response]) => (
        <>
          <h4>Response {status}</h4>
          {response.description === success ? null : prose(response.description)}
          {response.schema === null
            ? null
            : table(
                `Response ${status} of ${operation.summary}`,
                rowsOf(jsonSchemaOf(response.schema)),
                false,
              )}
        </>
      ))}
      <h4>Errors</h4>
      {errorLinks(errorsOf(route))} {tryIt(route)}
    </section>
  );
};

const authentication = (
  <section id="authentication" aria-labelledby="authentication-title">
    <h2 id="authentication-title">Authentication</h2>
    <p>
      Send your key with every request, in the header <code>Authorization: Bearer &lt;API_KEY&gt;</code>. Keys
      are created in the console, under Integrations, and shown only once.
    </p>
    <form id="credentials">
      <label for="key">
        Your key, to try calls on this page (or the operator token, for calls of the operator). It stays in
        this page and is gone when you close it.
      </label>
      <input id="key" type="password" autocomplete="off" spellcheck={false} />
    </form>
    <h3>Limits</h3>
    <p>
      A key may send a certain number of requests per clock minute. The headers <code>x-ratelimit-limit</code>
      , <code>x-ratelimit-remaining</code> and <code>x-ratelimit-reset</code> of every response say how many
      are left. Over the limit the response is a 429, and <code>Retry-After</code> says how many seconds to
      wait.
    </p>
  </section>
);

const errorsSection = (
  <section id="errors" aria-labelledby="errors-title">
    <h2 id="errors-title">Errors</h2>
    <p>
      Every error is{' '}
      <code>
        {'{'}"error": {'{'}"code", "message", "docs", "request_id"{'}'}
        {'}'}
      </code>
      , and if one field is at fault, <code>param</code> names it. The code is stable: switch on it. The
      message is for people and may change.
    </p>
    {errorLinks(errorCodes)}
  </section>
);

/** The reference: what the route table says, for people. */
export const reference = (routes: readonly Route[], baseUrl: string): Html => {
  const shown = routes.filter((route) => !route.hidden);
  const used = new Set(shown.flatMap((route) => route.operation.tags));
  // What clients call comes first, in whatever order the routes are declared.
  const tags = [...new Set([...Object.keys(tagDescriptions).filter((tag) => used.has(tag)), ...used])];
  const of = (tag: string): readonly Route[] => shown.filter((route) => route.operation.tags[0] === tag);
  const title = (tag: string): string => `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`;
  return (
    <div class="columns">
      <nav aria-label="Operations" tabindex={0}>
        <p class="brand">
          <a href="/docs">Handwritten Card Service</a>
        </p>
        <details class="menu" open>
          <summary>Contents</summary>
          <ul>
            <li>
              <a href="#authentication">Authentication</a>
            </li>
            {guides.map(({ id, title }) => (
              <li>
                <a href={`#${id}`}>{title}</a>
              </li>
            ))}
            <li>
              <a href="#errors">Errors</a>
            </li>
            <li>
              <a href="/openapi.json">OpenAPI document</a>
            </li>
            <li>
              <a href="/asyncapi.json">AsyncAPI document</a>
            </li>
          </ul>
          {tags.map((tag) => (
            <>
              <p class="group">{title(tag)}</p>
              <ul>
                {of(tag).map((route) => (
                  <li>
                    <a href={`#${route.operation.operationId}`}>{route.operation.summary}</a>
                  </li>
                ))}
              </ul>
            </>
          ))}
        </details>
      </nav>
      <main id="content">
        <h1>Handwritten Card Service</h1>
        {prose(description)} {authentication} {guideSections(baseUrl)} {errorsSection}
        {tags.map((tag) => (
          <section id={`tag-${tag}`} aria-labelledby={`tag-${tag}-title`}>
            <h2 id={`tag-${tag}-title`}>{title(tag)}</h2>
            {tagDescriptions[tag] === undefined ? null : <p>{tagDescriptions[tag]}</p>}
            {of(tag).map(operationSection)}
          </section>
        ))}
      </main>
    </div>
  );
};
