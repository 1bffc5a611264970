// isola plugin …: those of its author, those of the operator.
import { adminVerbs } from './plugin-admin.ts'
import { authorVerbs } from './plugin-author.ts'

export default { noun: 'plugin', verbs: { ...authorVerbs, ...adminVerbs } }
