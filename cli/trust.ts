// isola trust new|add|list|remove: whose signatures make a plugin trusted.
import { noun, on, verb } from './command.ts'
import { makeKeys, readPublicKey } from './plugin-keys.ts'
import { lines, listed } from './text.ts'

export default noun('trust', {
  new: verb({
    usage: '<file>',
    about: 'Makes a pair of keys for signing plugins: <file> and <file>.pub.',
    run({ args: [file], print }) {
      const publicKey = makeKeys(file)
      print(
        { file, publicKey },
        lines(
          `${file} is your private key: keep it, and show it to no other person. Public key (also in ${file}.pub):`,
          publicKey,
          `Operators accept it with: isola trust add <name> ${publicKey}`,
        ),
      )
    },
  }),
  add: verb({
    usage: '<name> <public key or file>',
    about: 'Accepts a key: plugins that it signed are trusted.',
    async run({ args: [name, key], ask, print }) {
      const added = await ask('POST /api/operator/trust', { name, publicKey: readPublicKey(key) })
      print(
        added,
        `Plugins that ${added.name} signed are trusted from now on. Installed ones stay as they are.`,
      )
    },
  }),
  list: on('GET /api/operator/trust', {
    about: 'Keys that are accepted.',
    says: ({ keys }) =>
      listed(keys, 'No keys: every plugin that is sent in is community.', {
        name: 'name',
        id: 'id',
        'public key': 'publicKey',
        since: 'addedAtMs',
      }),
  }),
  remove: on('DELETE /api/operator/trust/:key', {
    usage: '<name>',
    about: 'Accepts a key no longer.',
    asks: (name) => `Accept no more what ${name} signs?`,
    says: ({ name }) =>
      `${name} is not accepted any more. What it signed counts as a stranger's from now on, and goes on so.`,
  }),
})
