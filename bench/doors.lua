-- Posts one body again and again; the number of a JSON-RPC request changes, as a client's does.
local file = io.open(os.getenv("BODY"), "rb")
local body = file:read("*a")
file:close()
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
for name, value in string.gmatch(os.getenv("HEADERS"), "([^=|]+)=([^|]*)") do
    wrk.headers[name] = value
end

local requests, last = {}, 0

function init()
    for number = 1, 512 do
        requests[number] = wrk.format(nil, nil, nil, (string.gsub(body, '"id":1,', '"id":' .. number .. ",", 1)))
    end
end

function request()
    last = last % #requests + 1
    return requests[last]
end

function done(summary, latency)
    local wrong = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
    io.write(string.format(
        'FIGURES {"seconds":%f,"answers":%d,"refused":%d,"broken":%d,"p50_us":%d,"p99_us":%d}\n',
        summary.duration / 1e6, summary.requests, summary.errors.status, wrong,
        latency:percentile(50), latency:percentile(99)
    ))
end
