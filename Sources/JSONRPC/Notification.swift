package import JSONText

/// One line, ended by LF, that tells the host something unasked; `params` writes its params, one object.
package func notification(method: String, params: (inout JSONWriter) -> Void) -> [UInt8] {
  var writer = JSONWriter()
  writer.object { writer in
    writer.member("jsonrpc", "2.0")
    writer.member("method", method)
    writer.member("params", params)
  }
  writer.bytes.append(0x0A)
  return writer.bytes
}
