import { runCommandLine } from './cli/program.js';

// What it writes, such as a backup, holds names, addresses and secrets.
process.umask(0o077);

// The reader of the output may have seen enough, as in `… | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
