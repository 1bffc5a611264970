// isola trust new|add|list|remove: whose signatures make a plugin trusted.
import { defineVerbs, type Context } from './command.ts'
import { makeKeys, readPublicKey } from './plugin-keys.ts'
import { short, table, time } from './text.ts'

async function make({ args: [file], print }: Context<object, [string]>) {
  const publicKey = makeKeys(file)
  print(
    { file, publicKey },
    [
      `${file} is your private key: keep it, and show it to nobody. Public key (also in ${file}.pub):`,
      publicKey,
      `Operators accept it with: isola trust add <name> ${publicKey}`,
    ].join('\n'),
  )
}

async function add({ args: [name, key], request, print }: Context<object, [string, string]>) {
  const body = { name, publicKey: readPublicKey(key) }
  const added = await request('POST /api/operator/trust', { body })
  print(
    added,
    `Plugins that ${added.name} signed are trusted from now on. Installed ones stay as they are.`,
  )
}

async function list({ request, print }: Context) {
  const answer = await request('GET /api/operator/trust')
  const rows = answer.keys.map((key) => [key.name, key.id, key.publicKey, time(key.addedAtMs)])
  const head = ['name', 'id', 'public key', 'since']
  print(
    answer,
    rows.length === 0
      ? 'No keys: every plugin that is sent in is community.'
      : table([head, ...rows]),
  )
}

async function remove({ args: [name], request, print }: Context<object, [string]>) {
  const removed = await request('DELETE /api/operator/trust/:key', { params: { key: name } })
  print(
    removed,
    `${removed.name} is not accepted any more. What it signed counts as a stranger's from now on, and goes on so.`,
  )
}

export default {
  noun: 'trust',
  verbs: defineVerbs({
    new: {
      usage: 'isola trust new <file>',
      about: 'Makes a pair of keys for signing plugins: <file> and <file>.pub.',
      run: make,
    },
    add: {
      usage: 'isola trust add <name> <public key or file>',
      about: 'Accepts a key: plugins that it signed are trusted.',
      run: add,
    },
    list: { usage: 'isola trust list', about: 'Keys that are accepted.', run: list },
    remove: {
      usage: 'isola trust remove <name> [--yes]',
      about: 'Accepts a key no longer.',
      asks: ({ args: [name] }: Context<object, [string]>) =>
        `Accept no more what ${short(name)} signs?`,
      run: remove,
    },
  }),
}
