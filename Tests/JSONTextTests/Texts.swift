import JSONText

/// The value that `text` spells; throws what is wrong with it.
func json(_ text: String) throws -> JSON { try JSON(checking: Array(text.utf8)) }

/// What is written between the brackets of a test's text.
func string(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
