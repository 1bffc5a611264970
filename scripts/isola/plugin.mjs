// isola plugin …: those of its author, those of the operator.
import { adminVerbs } from './plugin-admin.mjs'
import { authorVerbs } from './plugin-author.mjs'

export default { noun: 'plugin', verbs: { ...authorVerbs, ...adminVerbs } }
