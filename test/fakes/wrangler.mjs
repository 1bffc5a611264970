// Stands in for wrangler in tests of `isola deploy`: an account in a file, the commands that a deployment uses, and
// answers shaped as wrangler 4.124.0 gives them (read from its source; no account was at hand).
//
// WRANGLER_FAKE names the folder: account.json is the account, calls.jsonl what was asked (arguments, never the input).
// WRANGLER_FAIL names a command that fails, `before` or `after` it did its work: "secret put:after".
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Ends a command with code 1. */
class Failure extends Error {}

/**
 * One call of it, here: what a process of it would say. `env` is its environment.
 * @returns Its exit code, and what it wrote to either output.
 */
export function runFake(args, { input, env }) {
  const folder = env.WRANGLER_FAKE
  let output = ''
  const accountPath = join(folder, 'account.json')
  const account = existsSync(accountPath)
    ? JSON.parse(readFileSync(accountPath, 'utf8'))
    : { id: 'acc-1', databases: [], namespaces: [], workers: {} }
  const save = () => writeFileSync(accountPath, JSON.stringify(account))
  const option = (name) => args[args.indexOf(name) + 1]
  const config = args.includes('--config')
    ? JSON.parse(readFileSync(option('--config'), 'utf8'))
    : {}
  const answer = (value) => (output += `${JSON.stringify(value, null, 2)}\n`)

  function die(message) {
    throw new Failure(`✘ [ERROR] ${message}\n`)
  }

  const workerOf = (name) =>
    account.workers[name] ?? die(`Worker "${name}" not found. [code: 10007]`)

  function deploy() {
    if (args.includes('--dry-run')) return
    if (!existsSync(resolve(dirname(option('--config')), config.main)))
      die('The entry-point file was not found.')
    for (const { database_id: id } of config.d1_databases)
      if (!account.databases.some(({ uuid }) => uuid === id)) die(`No database ${id}.`)
    for (const { id } of config.kv_namespaces)
      if (!account.namespaces.some((namespace) => namespace.id === id)) die(`No namespace ${id}.`)
    if (account.workers[config.name]?.isOlder)
      die(
        "Cannot apply new-sqlite-class migration to class 'Session' that is already depended on by existing Durable Objects [code: 10074]",
      )
    account.workers[config.name] ??= { secrets: {} }
    account.workers[config.name].database = config.d1_databases[0].database_id
    save()
    const entry = {
      type: 'deploy',
      version: 1,
      worker_name: config.name,
      targets: [env.WRANGLER_FAKE_URL],
    }
    const session = { type: 'wrangler-session', version: 1, command_line_args: args }
    appendFileSync(
      env.WRANGLER_OUTPUT_FILE_PATH,
      `${JSON.stringify(session)}\n${JSON.stringify(entry)}\n`,
    )
  }

  function migrate() {
    const { database_id: id, migrations_dir: migrations } = config.d1_databases.find(
      ({ binding }) => binding === args[3],
    )
    if (!args.includes('--remote')) die('Not the remote database.')
    if (!existsSync(resolve(dirname(option('--config')), migrations, '0001_isola.sql')))
      die('No migrations there.')
    account.databases.find(({ uuid }) => uuid === id).isMigrated = true
    save()
  }

  /** Only what it has in `d1_migrations` is ever asked; `applied` stands for another build's. */
  function execute() {
    const { database_id: id } = config.d1_databases.find(({ binding }) => binding === args[2])
    const { isMigrated, applied = isMigrated ? ['0001_isola.sql'] : [] } = account.databases.find(
      ({ uuid }) => uuid === id,
    )
    const isOfTables = option('--command').includes('sqlite_master')
    const names = isOfTables ? applied.slice(0, 1).map(() => 'd1_migrations') : applied
    answer([{ results: names.map((name) => ({ name })), success: true }])
  }

  const commands = {
    whoami: () => {
      if (env.WRANGLER_FAKE_LOGIN === 'none') {
        output += '{"loggedIn":false}\n'
        throw new Failure('')
      }
      answer({
        loggedIn: true,
        authType: 'OAuth Token',
        accounts: (env.WRANGLER_FAKE_ACCOUNTS ?? account.id)
          .split(' ')
          .map((id) => ({ id, name: 'Test' })),
      })
    },
    'd1 list': () =>
      answer(account.databases.map(({ uuid, name }) => ({ uuid, name, version: 'production' }))),
    'd1 create': () => {
      if (account.databases.some(({ name }) => name === args[2]))
        die('A database with that name already exists')
      account.databases.push({ uuid: `db-${account.databases.length + 1}`, name: args[2] })
      save()
    },
    'd1 execute': execute,
    'd1 migrations apply': migrate,
    'kv namespace list': () => answer(account.namespaces),
    'kv namespace create': () => {
      if (account.namespaces.some(({ title }) => title === args[3]))
        die(`A KV namespace with the title "${args[3]}" already exists.`)
      account.namespaces.push({ id: `kv-${account.namespaces.length + 1}`, title: args[3] })
      save()
    },
    deploy,
    'secret list': () =>
      answer(
        Object.keys(workerOf(config.name).secrets).map((name) => ({ name, type: 'secret_text' })),
      ),
    'secret put': () => {
      const worker = workerOf(config.name)
      // As wrangler does: white space at the end is not part of it.
      worker.secrets[args[2]] = input.trimEnd()
      save()
    },
  }

  const name = Object.keys(commands).find(
    (known) => known === args.slice(0, known.split(' ').length).join(' '),
  )
  appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify(args)}\n`)
  const [failing, when = 'before'] = (env.WRANGLER_FAIL ?? '').split(':')
  const isFailing = failing !== '' && `${args.join(' ')} `.startsWith(`${failing} `)
  try {
    if (!name) die(`Unknown command: ${args.join(' ')}`)
    // A program that fails may well repeat what it was given.
    if (isFailing && when === 'before')
      die(`A fault was asked for. ${name === 'secret put' ? input : ''}`)
    commands[name]()
    if (isFailing) die('A fault was asked for, after the work was done.')
    return { code: 0, output, errors: '' }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { code: 1, output, errors: error.message }
  }
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  // Only a command that is given a secret reads it.
  const input = args[0] === 'secret' && args[1] === 'put' ? readFileSync(0, 'utf8') : ''
  const { code, output, errors } = runFake(args, { input, env: process.env })
  process.stdout.write(output)
  process.stderr.write(errors)
  process.exitCode = code
}
