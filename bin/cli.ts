import { Command, CommanderError } from 'commander';
import { messageOf } from '../domain/errors.js';
import { operatorClient, ServiceRefused, Unreachable, WrongUsage } from './cli/client.js';
import { contactLongVerbs, contactVerbs } from './cli/contact-verbs.js';
import { hookVerbs } from './cli/hook-verbs.js';
import { readable } from './cli/print.js';
import { longVerbs, type LongVerb } from './cli/long-verbs.js';
import { queueVerbs } from './cli/queue-verbs.js';
import { webhookLongVerbs, webhookVerbs } from './cli/webhook-verbs.js';
import { parseInput, verbs, type Option, type CommandInput, type Verb } from './cli/verbs.js';

/** (docs/operations.md#exit-codes) */
const exitCodes = { done: 0, refused: 1, wrongUsage: 2, unreachable: 69 } as const;

const client = operatorClient(process.env);

// The reader of the output may have seen enough, as in `… | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** A list may be given in several options of the same name; of any other option the last one counts. */
const joined = (value: string, before: string | undefined): string =>
  before === undefined ? value : `${before},${value}`;
const last = (value: string): string => value;

const declare = (command: Command, { name, description, required = false, kind }: Option): void => {
  const parse = kind === 'list' ? joined : last;
  if (required) command.requiredOption(`--${name} <value>`, `${description} (required)`, parse);
  else command.option(`--${name} <value>`, description, parse);
};

/** Options may be spelled like the API's fields: `--signed_by` means `--signed-by`. */
const withHyphens = (argument: string): string =>
  /^--[a-z]+(_[a-z]+)+(=|$)/.test(argument)
    ? argument.replace(/^[^=]+/, (name) => name.replaceAll('_', '-'))
    : argument;

const helpAfter = `
For example: org create --name Acme
             card history HC-7K3M9QX

\`<noun> --help\` describes its verbs, \`<noun> <verb> --help\` lists the options of a verb.

The service is expected at BASE_URL, or at http://HOST:PORT if that is not set. The operator token is read from OPERATOR_TOKEN_FILE, or from DATA_DIR/operator.token.
Exit codes: 0 done, 1 refused by the service, 2 wrong usage, 69 the service can't be reached.`;

type Parsed = Readonly<Record<string, string | undefined>>;

const nounOf = (program: Command, noun: string): Command =>
  program.commands.find((command) => command.name() === noun) ??
  program.command(noun).usage('<verb> [options]');

/**
 * Whether the verb concerns an organization and nothing else: then its id may follow the verb instead of
 * `--org`.
 */
const concernsOrganization = ({ argument, options }: Verb | LongVerb): boolean =>
  argument === undefined && options.some(({ name }) => name === 'org');

const orgOrArgument: Option = {
  name: 'org',
  description: 'id of the organization (required, here or right after the verb)',
};

const usage = (verb: Verb | LongVerb): string => {
  if (verb.argument !== undefined) return `${verb.verb} <${verb.argument}>`;
  return concernsOrganization(verb) ? `${verb.verb} [org]` : verb.verb;
};

const inputOf = (verb: Verb | LongVerb, first: unknown, options: Parsed): CommandInput => {
  const argument = typeof first === 'string' ? first : '';
  if (!concernsOrganization(verb)) return parseInput(argument, options);
  const org = options['org'] ?? argument;
  if (org === '') throw new WrongUsage('Name the organization: --org <id>.');
  return parseInput('', { ...options, org });
};

const add = (program: Command, verb: Verb | LongVerb): void => {
  const command = nounOf(program, verb.noun).command(usage(verb)).description(verb.description);
  for (const option of verb.options)
    declare(command, option.name === 'org' && concernsOrganization(verb) ? orgOrArgument : option);
  command.option('--json', "print the API's response unchanged");
  command.action(async (first: unknown) => {
    const { json, ...options } = command.opts<{ readonly json?: true }>();
    const input = inputOf(verb, first, options);
    if ('run' in verb) {
      await verb.run({ input, client, json: json === true, print });
      return;
    }
    const text = await client.call(verb.call(input));
    print(json === true ? text : readable(text));
  });
};

const program = new Command('cli')
  .description('The back office of the Handwritten Card Service, as a client of the running service')
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
  if (error instanceof ServiceRefused && json && error.text !== '') print(error.text);
  process.stderr.write(`${messageOf(error)}\n`);
  if (error instanceof WrongUsage) return exitCodes.wrongUsage;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.refused;
};

try {
  await program.parseAsync(process.argv.map(withHyphens));
} catch (error) {
  process.exitCode = exitCodeFor(error, process.argv.includes('--json'));
}
