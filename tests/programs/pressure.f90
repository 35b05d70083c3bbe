! Writes records of a pressure field to the place that the first argument names, and reads them back.
! With a second argument the dataset has the netCDF-4 model and deflate, else it is a classic file.
program pressure
  use netcdf
  implicit none
  integer, parameter :: lons = 12, lats = 6, levels = 2, records = 3
  integer :: file, lon, lat, level, time, axis, field, count, mode, record, x, y, z
  integer :: lengths(4), found
  real :: written(lons, lats, levels), seen(lons, lats, levels), east(lons)
  character(len=512) :: place
  character(len=6) :: units

  call get_command_argument(1, place)
  mode = nf90_clobber
  if (command_argument_count() > 1) mode = ior(mode, nf90_netcdf4)
  call check(nf90_create(trim(place), mode, file))
  call check(nf90_def_dim(file, "longitude", lons, lon))
  call check(nf90_def_dim(file, "latitude", lats, lat))
  call check(nf90_def_dim(file, "level", levels, level))
  call check(nf90_def_dim(file, "time", nf90_unlimited, time))
  call check(nf90_def_var(file, "longitude", nf90_real, [lon], axis))
  call check(nf90_put_att(file, axis, "units", "degrees_east"))
  call check(nf90_def_var(file, "pressure", nf90_real, [lon, lat, level, time], field))
  if (command_argument_count() > 1) call check(nf90_def_var_deflate(file, field, 1, 1, 4))
  call check(nf90_put_att(file, field, "units", "hPa   "))
  call check(nf90_put_att(file, field, "valid_range", [500.0, 1100.0]))
  call check(nf90_put_att(file, nf90_global, "levels", levels))
  call check(nf90_enddef(file))

  east = [(30.0 * real(z - 1), z=1, lons)]
  call check(nf90_put_var(file, axis, east))
  do record = 1, records
    call fill(record)
    call check(nf90_put_var(file, field, written, start=[1, 1, 1, record], count=[lons, lats, levels, 1]))
  end do
  call check(nf90_close(file))

  call check(nf90_open(trim(place), nf90_nowrite, file))
  call check(nf90_inq_varid(file, "pressure", field))
  call check(nf90_inquire_variable(file, field, ndims=count, dimids=lengths))
  if (count /= 4) stop 2
  call check(nf90_inquire_dimension(file, lengths(4), len=found))
  if (found /= records) stop 3
  call check(nf90_get_att(file, field, "units", units))
  if (units /= "hPa   ") stop 4
  do record = 1, records
    call fill(record)
    call check(nf90_get_var(file, field, seen, start=[1, 1, 1, record], count=[lons, lats, levels, 1]))
    if (any(seen /= written)) stop 5
  end do
  call check(nf90_get_var(file, field, seen(1:6, 1:3, :), start=[1, 1, 1, 2], count=[6, 3, levels, 1], &
    stride=[2, 2, 1, 1]))
  call fill(2)
  if (any(seen(1:6, 1:3, :) /= written(1:lons:2, 1:lats:2, :))) stop 6
  if (nf90_inq_varid(file, "absent", axis) /= nf90_enotvar) stop 7
  call check(nf90_close(file))
  print "(a)", "pressure: read what was written"

contains

  subroutine fill(record)
    integer, intent(in) :: record
    do z = 1, levels
      do y = 1, lats
        do x = 1, lons
          written(x, y, z) = 900.0 + real(record) + real(x) / 16 + real(y) / 4 - 100.0 * real(z)
        end do
      end do
    end do
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      print *, trim(nf90_strerror(status))
      stop 1
    end if
  end subroutine
end program
