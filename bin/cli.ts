import { Command, CommanderError } from 'commander';
import { messageOf } from '../domain/errors.js';
import { operatorClient, Refused, Unreachable, WrongUsage } from './cli/client.js';
import { contactLongVerbs, contactVerbs } from './cli/contact-verbs.js';
import { hookVerbs } from './cli/hook-verbs.js';
import { readable } from './cli/print.js';
import { longVerbs, type LongVerb } from './cli/long-verbs.js';
import { queueVerbs } from './cli/queue-verbs.js';
import { webhookLongVerbs, webhookVerbs } from './cli/webhook-verbs.js';
import { typedFrom, verbs, type Option, type Typed, type Verb } from './cli/verbs.js';

/** (operations.md, Operator API) */
const exitCodes = { done: 0, refused: 1, wrongUsage: 2, unreachable: 69 } as const;

const client = operatorClient(process.env);

// Whoever reads the output may have seen enough: `… | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** A list may also be given in several options of its name; any other option counts as it stands last. */
const joined = (value: string, before: string | undefined): string =>
  before === undefined ? value : `${before},${value}`;
const last = (value: string): string => value;

const declare = (command: Command, { name, about, required = false, kind }: Option): void => {
  const parse = kind === 'list' ? joined : last;
  if (required) command.requiredOption(`--${name} <value>`, `${about} (required)`, parse);
  else command.option(`--${name} <value>`, about, parse);
};

/** Options may be named as the API names its fields: `--signed_by` is `--signed-by`. */
const withHyphens = (argument: string): string =>
  /^--[a-z]+(_[a-z]+)+(=|$)/.test(argument)
    ? argument.replace(/^[^=]+/, (name) => name.replaceAll('_', '-'))
    : argument;

const helpAfter = `
For example: org create --name Acme
             card history HC-7K3M9QX

\`<noun> --help\` says what its verbs do, \`<noun> <verb> --help\` lists the options of one.

The service is looked for at BASE_URL, else http://HOST:PORT; the operator token is read from OPERATOR_TOKEN_FILE, else DATA_DIR/operator.token.
Exit code: 0 done, 1 refused by the service, 2 wrong usage, 69 the service can't be reached.`;

type Parsed = Readonly<Record<string, string | undefined>>;

const nounOf = (program: Command, noun: string): Command =>
  program.commands.find((command) => command.name() === noun) ??
  program.command(noun).usage('<verb> [options]');

/**
 * Where the verb is about an organization alone, its id may follow the verb as well as stand behind `--org`.
 */
const isAboutOrganization = ({ thing, options }: Verb | LongVerb): boolean =>
  thing === undefined && options.some(({ name }) => name === 'org');

const orgAnywhere: Option = {
  name: 'org',
  about: 'id of the organization (required; it may stand behind the verb instead)',
};

const usage = (verb: Verb | LongVerb): string => {
  if (verb.thing !== undefined) return `${verb.verb} <${verb.thing}>`;
  return isAboutOrganization(verb) ? `${verb.verb} [org]` : verb.verb;
};

const typedBy = (verb: Verb | LongVerb, first: unknown, options: Parsed): Typed => {
  const thing = typeof first === 'string' ? first : '';
  if (!isAboutOrganization(verb)) return typedFrom(thing, options);
  const org = options['org'] ?? thing;
  if (org === '') throw new WrongUsage('Name the organization: --org <id>.');
  return typedFrom('', { ...options, org });
};

const add = (program: Command, verb: Verb | LongVerb): void => {
  const command = nounOf(program, verb.noun).command(usage(verb)).description(verb.about);
  for (const option of verb.options)
    declare(command, option.name === 'org' && isAboutOrganization(verb) ? orgAnywhere : option);
  command.option('--json', "print the API's answer as it is");
  command.action(async (first: unknown) => {
    const { json, ...options } = command.opts<{ readonly json?: true }>();
    const typed = typedBy(verb, first, options);
    if ('run' in verb) {
      await verb.run({ typed, client, json: json === true, print });
      return;
    }
    const text = await client.call(verb.call(typed));
    print(json === true ? text : readable(text));
  });
};

const program = new Command('cli')
  .description('The back office of the Handwritten Card Service: a client of the running service')
  .usage('<noun> <verb> [id or code] [options]')
  .showHelpAfterError()
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(text) });
for (const verb of [
  ...verbs,
  ...hookVerbs,
  ...contactVerbs,
  ...webhookVerbs,
  ...longVerbs,
  ...contactLongVerbs,
  ...webhookLongVerbs,
  ...queueVerbs,
])
  add(program, verb);
for (const noun of program.commands) {
  noun.exitOverride().summary(noun.commands.map((verb) => verb.name()).join(', '));
  for (const verb of noun.commands) verb.exitOverride();
}

program.addHelpText('after', helpAfter);

const exitCodeFor = (error: unknown, json: boolean): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
  if (error instanceof Refused && json && error.text !== '') print(error.text);
  process.stderr.write(`${messageOf(error)}\n`);
  if (error instanceof WrongUsage) return exitCodes.wrongUsage;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.refused;
};

try {
  await program.parseAsync(process.argv.map(withHyphens));
} catch (error) {
  process.exitCode = exitCodeFor(error, process.argv.includes('--json'));
}
